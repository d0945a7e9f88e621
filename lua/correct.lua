#!lua
-- Sets the stock to what Postgres has free, and the sold-out flag to what the stock says,
-- if nothing has moved since the caller looked. The only writer of a stock that no unit
-- explains; see the reconciliation in the worker.
-- ARGV[2..] version, stock, total, rank, served, given, handoff entries: as the caller saw them
-- ARGV[9] the stock to set
-- Reply[2] 1 when set, 0 when something has moved
if not LIVE then return { state() } end
local seen = { unpack(ARGV, 2, 8) }
local correct = tonumber(ARGV[9])
local counters = redis.call('HMGET', COUNTERS, 'rank', 'served', 'given')
local is = { version, redis.call('GET', STOCK), meta[9], counters[1], counters[2], counters[3], redis.call('ZCARD', HANDOFF) }
for i = 1, 7 do
  if tonumber(is[i]) ~= tonumber(seen[i]) then return { state(), 0 } end
end
redis.call('SET', STOCK, correct)
bump(correct <= 0)
return { state(), 1 }
