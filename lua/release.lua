#!lua
-- Closes tickets and gives their units back, in one step. The only writer of a closed status.
-- ARGV[2..] per ticket: rid, status, reason, give (0 | 1), holder: the rid that holds a duplicate's slot, the
--           ticket's own when the slot stays taken, '-' when it opens, '' when that is as the sale says
-- Reply[2..] per ticket: 0 RELEASED, 1 ALREADY (was closed), 2 UNKNOWN (no such ticket; nothing moved)
if not LIVE then return { state() } end
local CLOSED = { expired = true, cancelled = true, rejected = true, refunded = true }

-- The slot opens again, unless the sale allows no second purchase; a duplicate's
-- stays taken and points to its holder. slots keeps the last rid for tickets/me.
local function free_slot(rid, t, status, holder)
  local name = t[1] .. '#' .. t[2]
  if redis.call('HGET', SLOTS, name) ~= rid then return end
  if holder == '-' or holder == '' and (REBUY or status == 'rejected') then
    redis.call('SREM', BUYERS, name)
  elseif holder ~= '' then
    redis.call('HSET', SLOTS, name, holder)
  end
end

local function release(rid, status, reason, give, holder)
  local t = ticket(rid)
  if not t then return 2 end
  local was = t[5]
  serve(rid, t)
  if CLOSED[was] then
    store(rid, t)
    return 1
  end
  t[5], t[6], t[8], t[9] = status, reason, NOW, 0
  store(rid, t)
  if was ~= 'paid' then redis.call('HINCRBY', COUNTERS, 'unpaid', -1) end
  free_slot(rid, t, status, holder)
  local bound = t[1] .. '\n'
  if t[3] == '' and redis.call('HGET', BOUND, bound) == rid then redis.call('HDEL', BOUND, bound) end
  if give > 0 then
    redis.call('HINCRBY', COUNTERS, 'given', give)
    bump(redis.call('INCRBY', STOCK, give) <= 0)
  else
    bump(sold_out)
  end
  return 0
end

local reply = { 0 }
for i = 2, #ARGV, 5 do
  reply[#reply + 1] = release(ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]), ARGV[i + 4])
end
reply[1] = state()
return reply
