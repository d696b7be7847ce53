-- One caller asks for decisions until it has had enough. The arguments: how many, the path, the body.
package.path = (debug.getinfo(1, 'S').source:match('^@(.*)/[^/]*$') or '.') .. '/?.lua;' .. package.path
require('figures')

local ffi = require('ffi')
ffi.cdef('int kill(int process, int signal); int getpid(void);')
local SIGINT = 2

local question, left

function init(args)
    left = tonumber(args[1])
    question = wrk.format('POST', args[2], { ['Content-Type'] = 'application/json' }, args[3])
end

function request()
    left = left - 1
    if left == 0 then
        -- wrk itself sleeps until its time is up, or it is interrupted, and takes what it has found until then.
        wrk.thread:stop()
        ffi.C.kill(ffi.C.getpid(), SIGINT)
    end
    return question
end
