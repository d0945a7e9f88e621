#!lua
-- Last step of a load: the epoch goes live with its stock, counters and configuration.
-- ARGV[2] token of the fence
-- ARGV[3..] stock, rank, accepted, served, unpaid, given, then
--           rev, opens_ms, closes_ms, limit, total, rebuy, allow, paused (flags 0 | 1), allow_rev
-- Reply[2] 1 when live, 0 when the fence is not this loader's, or the server was
--          restarted since and may have lost what was loaded: start over
local token = ARGV[2]
local stock, rank, accepted, served, unpaid, given = unpack(ARGV, 3, 8)
local rev, opens, closes, limit, total, rebuy, allow, paused, allow_rev = unpack(ARGV, 9, 17)
if meta[1] ~= EPOCH or meta[2] ~= 'loading' or meta[12] ~= token then return { state(), 0 } end
if not same_process() then return { state(), 0 } end
redis.call('SET', STOCK, stock)
redis.call('HSET', COUNTERS, 'rank', rank, 'accepted', accepted, 'served', served, 'unpaid', unpaid, 'given', given,
  'allow_rev', allow_rev, 'allow_size', redis.call('SCARD', ALLOW))
redis.call('HSET', META, 'state', 'live', 'rev', rev, 'opens_ms', opens, 'closes_ms', closes, 'limit', limit,
  'total', total, 'rebuy', rebuy, 'allow', allow, 'paused', paused)
redis.call('HDEL', META, 'token')
bump(tonumber(stock) <= 0)
return { state(), 1 }
