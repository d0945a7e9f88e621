#!lua
-- Shows orders' confirmed or paid states on their tickets. Forward only; never moves units.
-- ARGV[2..] per ticket: rid, status ('confirmed' | 'paid'), pay_by_ms (0 for none)
-- Reply[2..] per ticket: 0 SETTLED, 1 ALREADY (as far or further), 2 UNKNOWN (no such ticket)
-- Hundreds come at a time: tickets are read by one command and written by one, and what
-- does not change of them is not decoded.
if not LIVE then return { state() } end
local order = { queued = 0, confirmed = 1, paid = 2, expired = 3, cancelled = 3, rejected = 3, refunded = 3 }
local FROM_STATUS = '^(.*),"(%l+)","([%l_]*)",(%d+),(%d+),(%d+),(%d)%]$'
local now = tostring(NOW)
local rids, tickets, known, served, paid = {}, {}, {}, 0, 0

local function read(rid, packed)
  if not packed or tickets[rid] then return end
  local head, status, reason, created, updated, pay_by, was_served = packed:match(FROM_STATUS)
  tickets[rid] = { head, status, reason, created, updated, pay_by, was_served }
  known[#known + 1] = rid
end

local function settle(rid, status, pay_by)
  local t = tickets[rid]
  if not t then return 2 end
  if t[7] == '0' then t[7], t.changed, served = '1', true, served + 1 end
  if order[status] <= order[t[2]] then return 1 end
  t[2], t[5], t[6], t.changed = status, now, pay_by, true
  if status == 'paid' then paid = paid + 1 end
  return 0
end

local function write()
  local changes = {}
  for _, rid in ipairs(known) do
    local t = tickets[rid]
    if t.changed then
      changes[#changes + 1] = rid
      changes[#changes + 1] = t[1] .. ',"' .. t[2] .. '","' .. t[3] .. '",' .. t[4] .. ',' .. t[5] .. ',' .. t[6] .. ',' .. t[7] .. ']'
    end
  end
  if #changes > 0 then redis.call('HSET', TICKETS, unpack(changes)) end
  if #known > 0 then redis.call('ZREM', HANDOFF, unpack(known)) end
  if served > 0 then redis.call('HINCRBY', COUNTERS, 'served', served) end
  if paid > 0 then redis.call('HINCRBY', COUNTERS, 'unpaid', -paid) end
end

local reply = { 0 }
for i = 2, #ARGV, 3 do rids[#rids + 1] = ARGV[i] end
if #rids > 0 then
  for i, packed in ipairs(redis.call('HMGET', TICKETS, unpack(rids))) do read(rids[i], packed) end
end
for i = 2, #ARGV, 3 do reply[#reply + 1] = settle(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
write()
reply[1] = state()
return reply
