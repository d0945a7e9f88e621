#!lua
-- Takes a newer configuration of a live sale in; an older one changes nothing. What is older
-- is said by rev, and for the allow list by a number of its own, allow_rev: a list takes long
-- to bring, and until the whole of it is there the one before it rules.
-- ARGV[2..] rev, opens_ms, closes_ms, limit, rebuy, allow, paused (flags 0 | 1), allow_rev,
--           users of the list that allow.lua has made, -1 when it may not be whole
-- Reply[2] 1 when anything was taken in; Reply[3] 1 when the list of allow_rev is still to come
if not LIVE then return { state() } end
local rev, opens, closes, limit, rebuy, allow, paused, allow_rev, made = unpack(ARGV, 2, 10)
local taken, wanted = 0, 0

local function swap()
  redis.call('UNLINK', ALLOW)
  if allow == '1' and made ~= '0' then redis.call('RENAME', ALLOWING, ALLOW) else redis.call('UNLINK', ALLOWING) end
  redis.call('HSET', META, 'allow', allow)
  redis.call('HSET', COUNTERS, 'allow_rev', allow_rev, 'allow_size', allow == '1' and made or '0')
  redis.call('HDEL', COUNTERS, 'allowing_rev')
  taken = 1
end

-- A list that lost users counts as one that is not there. Before lists were numbered their
-- size was not noted: then one with anybody on it is whole.
local function list()
  local known = redis.call('HMGET', COUNTERS, 'allow_rev', 'allow_size', 'allowing_rev')
  local here, size = tonumber(known[1]) or 0, redis.call('SCARD', ALLOW)
  if here > tonumber(allow_rev) then return end
  local whole = known[2] and size == tonumber(known[2]) or not known[2] and size > 0
  if here == tonumber(allow_rev) and ALLOW_LISTED == (allow == '1') and (allow == '0' or whole) then
    if known[3] == allow_rev then -- whoever made it a second time came after the swap
      redis.call('UNLINK', ALLOWING)
      redis.call('HDEL', COUNTERS, 'allowing_rev')
    end
    return
  end
  if allow == '0' or known[3] == allow_rev and redis.call('SCARD', ALLOWING) == tonumber(made) then
    swap()
  else
    wanted = 1
  end
end

if (tonumber(redis.call('HGET', META, 'rev')) or 0) < tonumber(rev) then
  redis.call('HSET', META, 'rev', rev, 'opens_ms', opens, 'closes_ms', closes, 'limit', limit, 'rebuy', rebuy, 'paused', paused)
  OPENS, CLOSES, LIMIT, PAUSED, taken = tonumber(opens), tonumber(closes), tonumber(limit), paused == '1', 1
end
list()
if taken == 1 then bump(sold_out) end
return { state(), taken, wanted }
