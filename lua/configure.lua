#!lua
-- Takes a newer configuration of a live sale in; an older one, by rev, changes nothing.
-- ARGV[2..] rev, opens_ms, closes_ms, limit, rebuy, allow, paused (flags 0 | 1)
-- Reply[2] 1 when taken in, 0 when meta's is as new or newer
if not LIVE then return { state() } end
local rev, opens, closes, limit, rebuy, allow, paused = unpack(ARGV, 2, 8)
if (tonumber(redis.call('HGET', META, 'rev')) or 0) >= tonumber(rev) then return { state(), 0 } end
redis.call('HSET', META, 'rev', rev, 'opens_ms', opens, 'closes_ms', closes, 'limit', limit,
  'rebuy', rebuy, 'allow', allow, 'paused', paused)
OPENS, CLOSES, LIMIT, PAUSED = tonumber(opens), tonumber(closes), tonumber(limit), paused == '1'
bump(sold_out)
return { state(), 1 }
