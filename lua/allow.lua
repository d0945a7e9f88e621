#!lua
-- Adds users to the list that is made beside a live sale's allow list, to take its place in
-- configure. Whoever makes the same list adds to the same; a later one replaces it.
-- ARGV[2] allow_rev, the number of the list; ARGV[3..] users
-- Reply[2] 1 when added, 0 when a later list is in force or being made
if not LIVE then return { state() } end
local rev = tonumber(ARGV[2])
local known = redis.call('HMGET', COUNTERS, 'allow_rev', 'allowing_rev')
local making = tonumber(known[2]) or -1
if rev < (tonumber(known[1]) or 0) or rev < making then return { state(), 0 } end
if rev > making then
  redis.call('UNLINK', ALLOWING)
  redis.call('HSET', COUNTERS, 'allowing_rev', ARGV[2])
end
for i = 3, #ARGV, 1000 do redis.call('SADD', ALLOWING, unpack(ARGV, i, math.min(i + 999, #ARGV))) end
return { state(), 1 }
