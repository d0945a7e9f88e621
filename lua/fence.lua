#!lua
-- First step of a load: from here on every script but load and flip answers STALE.
-- ARGV[1] the epoch to come; ARGV[2] a random token that only this loader knows
-- Reply[2] 1 when fenced, 0 when meta already knows that epoch or a later one
local token = ARGV[2]
if (tonumber(meta[1]) or 0) >= tonumber(EPOCH) then return { state(), 0 } end
-- The process that is fenced is the one that must flip, and go on to execute.
local run_id = redis.call('INFO', 'server'):match('run_id:(%x+)')
redis.call('HSET', META, 'epoch', EPOCH, 'state', 'loading', 'token', token, 'run_id', run_id)
return { state(), 1 }
