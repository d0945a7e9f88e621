#!lua
-- Decides attempts of one sale: dedupe by user and slot, deduct one unit, list for hand-over.
-- ARGV[2] 1 for attempts of payments that came too late: any time will do, and a pause; else 0
-- ARGV[3..] per attempt, at most 256: rid, user, key ('' when the buyer sent none)
-- Reply[2..] per attempt: a code, {code, rid, in_handoff, ticket fields 1..9} when a reservation answers it,
--            or 100 + slot when it is accepted now, under its own rid; the last such has the state's rank
--   0 ACCEPTED  1 REPLAY  2 SOLD_OUT  3 LIMIT  4 NOT_OPEN  5 CLOSED  6 PAUSED  7 NOT_ALLOWED
--   -1 LOST (the ticket of the reservation that answers it is not there, or cannot be read)
-- Idempotent: a rid that is known gets its stored outcome, and moves nothing.
if not LIVE then return { state() } end
local LATE, LOST, ACCEPTED_NOW = ARGV[2] == '1', -1, 100
local SHUT = not LATE and (PAUSED and 6 or NOW < OPENS and 4 or NOW >= CLOSES and 5)
local stock, rank = tonumber(redis.call('GET', STOCK)) or 0, tonumber(redis.call('HGET', COUNTERS, 'rank')) or 0

local function newest(user)
  local best
  for slot = 1, LIMIT do
    local name = user .. '#' .. slot
    local rid = last[name] or redis.call('HGET', SLOTS, name)
    local reply = rid and held(1, rid)
    if reply and (not best or reply[7] > best[7]) then best = reply end
  end
  return best
end

local function decide(n, rid)
  local user, key, binding, name, slot = users[n], keys[n], bindings[n], names[n], 1
  if tickets[rid] then return held(0, rid) or LOST end
  if bound[binding] then return held(1, bound[binding]) or LOST end
  if SHUT then return SHUT end
  while slot <= LIMIT and (full[name] or redis.call('SISMEMBER', BUYERS, name)) == 1 do
    slot = slot + 1
    name = user .. '#' .. slot
  end
  if slot > LIMIT then return key == '' and newest(user) or 3 end
  if ALLOW_LISTED and redis.call('SISMEMBER', ALLOW, user) == 0 then return 7 end
  if stock <= taken then return 2 end
  accept(rid, binding, name, user, slot, key, rank + taken + 1)
  return ACCEPTED_NOW + slot
end

local reply = { 0 }
for n, rid in ipairs(rids) do reply[n + 1] = decide(n, rid) end
write()
if stock <= taken and not sold_out then bump(true) end
reply[1] = state()
return reply
