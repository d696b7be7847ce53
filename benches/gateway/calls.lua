-- A thousand users call in turn. An argument says how long a connection pauses between its calls at most, in
-- milliseconds; the pauses are even up to there.
package.path = (debug.getinfo(1, 'S').source:match('^@(.*)/[^/]*$') or '.') .. '/?.lua;' .. package.path
require('figures')

local USERS = 1000
local calls, last = {}, 0

function init(args)
    for user = 1, USERS do
        calls[user] = wrk.format('GET', '/api/v1.0/me/pages', { ['Spillway-User'] = 'user-' .. user })
    end
    local pause_ms_max = tonumber(args[1])
    if pause_ms_max then
        function delay()
            return math.random(0, pause_ms_max)
        end
    end
end

function request()
    last = last % USERS + 1
    return calls[last]
end
