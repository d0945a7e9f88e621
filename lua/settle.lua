#!lua
-- Shows orders' confirmed or paid states on their tickets. Forward only; never moves units.
-- ARGV[2..] of tickets with the same state: status ('confirmed' | 'paid'), pay_by_ms (0 for none),
--           how many they are, their rids; then of others
-- Reply[2] a digit for each ticket: 0 SETTLED, 1 ALREADY (as far or further), 2 UNKNOWN (not there, or not readable)
-- Hundreds come at a time: tickets are read by one command and written by one, and what
-- does not change of them is not decoded.
if not LIVE then return { state() } end
local order = { queued = 0, confirmed = 1, paid = 2, expired = 3, cancelled = 3, rejected = 3, refunded = 3 }
local FROM_STATUS = '^(.*),"(%l+)","([%l_]*)",(%d+),(%d+),(%d+),(%d)%]$'
local QUEUED = ',"queued","",(%d+),%d+,%d+,0%]$' -- as nearly all are found
local texts, changes, known, results, served, paid = {}, {}, {}, {}, 0, 0

local function write(rid, text)
  texts[rid] = text -- it may come twice
  changes[#changes + 1] = rid
  changes[#changes + 1] = text
end

-- advance is for a ticket that is not queued any more, or is counted as served.
local function advance(rid, text, status, pay_by)
  local head, was, reason, created, updated, due, was_served = text:match(FROM_STATUS)
  if not order[was or ''] then return '2' end
  local further = order[status] > order[was]
  if further then was, updated, due = status, NOW, pay_by end
  if was_served == '0' then served = served + 1 end
  if further or was_served == '0' then
    write(rid, head .. ',"' .. was .. '","' .. reason .. '",' .. created .. ',' .. updated .. ',' .. due .. ',1]')
  end
  return further and '0' or '1'
end

local function settle(rid, text, status, pay_by, becomes)
  local shown, was_queued = text:gsub(QUEUED, becomes)
  if was_queued == 0 then return advance(rid, text, status, pay_by) end
  write(rid, shown)
  served = served + 1
  return '0'
end

local i = 2
while i < #ARGV do
  local status, pay_by, first, last = ARGV[i], ARGV[i + 1], i + 3, i + 2 + ARGV[i + 2]
  if order[status] ~= 1 and order[status] ~= 2 then error('cannot settle to ' .. status) end -- nothing is written yet
  local rids, becomes = { unpack(ARGV, first, last) }, ',"' .. status .. '","",%1,' .. NOW .. ',' .. pay_by .. ',1]'
  for k, text in ipairs(redis.call('HMGET', TICKETS, unpack(rids))) do
    local rid = rids[k]
    local result = text and settle(rid, texts[rid] or text, status, pay_by, becomes) or '2'
    if result ~= '2' then known[#known + 1] = rid end
    if result == '0' and status == 'paid' then paid = paid + 1 end
    results[#results + 1] = result
  end
  i = last + 1
end
if #changes > 0 then redis.call('HSET', TICKETS, unpack(changes)) end
if #known > 0 then redis.call('ZREM', HANDOFF, unpack(known)) end
if served > 0 then redis.call('HINCRBY', COUNTERS, 'served', served) end
if paid > 0 then redis.call('HINCRBY', COUNTERS, 'unpaid', -paid) end
return { state(), table.concat(results) }
