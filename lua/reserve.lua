#!lua
-- Decides attempts of one sale: dedupe by user and slot, deduct one unit, list for hand-over.
-- ARGV[2] 1 for attempts of payments that came too late: any time will do, and a pause; else 0
-- ARGV[3..] per attempt: rid, user, key ('' when the buyer sent none)
-- Reply[2..] per attempt: {code} or {code, rid, in_handoff, ticket fields 1..9}
--   0 ACCEPTED  1 REPLAY  2 SOLD_OUT  3 LIMIT  4 NOT_OPEN  5 CLOSED  6 PAUSED  7 NOT_ALLOWED
-- Idempotent: a rid that is known gets its stored outcome, and moves nothing.
if not LIVE then return { state() } end
local LATE, stock = ARGV[2] == '1', tonumber(redis.call('GET', STOCK)) or 0
local rank, taken = tonumber(redis.call('HGET', COUNTERS, 'rank')) or 0, 0

local function held(code, rid, t, listed)
  listed = listed or redis.call('ZSCORE', HANDOFF, rid)
  return { code, rid, listed and 1 or 0, t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9] }
end

local function newest(user)
  local best, found
  for slot = 1, LIMIT do
    local rid = redis.call('HGET', SLOTS, user .. '#' .. slot)
    local t = rid and ticket(rid)
    if t and (not found or t[4] > found[4]) then best, found = rid, t end
  end
  return best, found
end

local function decide(rid, user, key)
  local t = ticket(rid)
  if t then return held(0, rid, t) end
  local bound = redis.call('HGET', BOUND, user .. '\n' .. key)
  if bound then return held(1, bound, ticket(bound)) end
  if not LATE and (PAUSED or NOW < OPENS or NOW >= CLOSES) then return { PAUSED and 6 or NOW < OPENS and 4 or 5 } end
  local slot = 1
  while slot <= LIMIT and redis.call('SISMEMBER', BUYERS, user .. '#' .. slot) == 1 do slot = slot + 1 end
  if slot > LIMIT then
    local last, t_last = newest(user)
    return (key ~= '' or not last) and { 3 } or held(1, last, t_last)
  end
  if ALLOW_LISTED and redis.call('SISMEMBER', ALLOW, user) == 0 then return { 7 } end
  if stock <= taken then return { 2 } end
  taken = taken + 1
  t = { user, slot, key, rank + taken, 'queued', '', NOW, NOW, 0, 0 }
  redis.call('SADD', BUYERS, user .. '#' .. slot)
  store(rid, t)
  redis.call('HSET', SLOTS, user .. '#' .. slot, rid)
  redis.call('HSET', BOUND, user .. '\n' .. key, rid)
  redis.call('ZADD', HANDOFF, NOW, rid)
  return held(0, rid, t, true)
end

local reply = { 0 }
for i = 3, #ARGV, 3 do reply[#reply + 1] = decide(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
if taken > 0 then
  redis.call('DECRBY', STOCK, taken)
  for _, name in ipairs({ 'rank', 'accepted', 'unpaid' }) do redis.call('HINCRBY', COUNTERS, name, taken) end
end
if stock <= taken and not sold_out then bump(true) end
reply[1] = state()
return reply
