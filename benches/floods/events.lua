-- Events of a thousand lists on fifty sites in turn, singly or in lists of so many. The arguments: how many at once, and
-- how long a connection pauses between its calls at most, in milliseconds; the pauses are even up to there.
package.path = (debug.getinfo(1, 'S').source:match('^@(.*)/[^/]*$') or '.') .. '/../gateway/?.lua;' .. package.path
require('figures')

local LISTS = 1000
local BODIES_MANY = 16
local calls, last = {}, 0

local function event(n)
    n = n % LISTS
    return string.format('{"site":"site-%d","list":"list-%d","component":"action","trigger":"event"}', n % 50, n)
end

local function call(body)
    return wrk.format('POST', '/api/v1/events', { ['Content-Type'] = 'application/json' }, body)
end

function init(args)
    local many = tonumber(args[1])
    for n = 1, many == 1 and LISTS or BODIES_MANY do
        if many == 1 then
            calls[n] = call(event(n))
        else
            local events = {}
            for k = 1, many do events[k] = event(n * many + k) end
            calls[n] = call('[' .. table.concat(events, ',') .. ']')
        end
    end
    local pause_ms_max = tonumber(args[2])
    if pause_ms_max then
        function delay()
            return math.random(0, pause_ms_max)
        end
    end
end

function request()
    last = last % #calls + 1
    return calls[last]
end
