#!lua
-- Shows an order's confirmed or paid state on its ticket. Forward only; never moves units.
-- ARGV[2..] per ticket: rid, status ('confirmed' | 'paid'), pay_by_ms (0 for none)
-- Reply[2..] per ticket: 0 SETTLED, 1 ALREADY (as far or further), 2 UNKNOWN (no such ticket)
if not LIVE then return { state() } end
local order = { queued = 0, confirmed = 1, paid = 2, expired = 3, cancelled = 3, rejected = 3, refunded = 3 }

local function settle(rid, status, pay_by)
  local t = ticket(rid)
  if not t then return 2 end
  local before = t[10]
  serve(rid, t)
  local moves = order[status] > order[t[5]]
  if moves then
    t[5], t[8], t[9] = status, NOW, tonumber(pay_by)
    if status == 'paid' then redis.call('HINCRBY', COUNTERS, 'unpaid', -1) end
  end
  if moves or before ~= t[10] then store(rid, t) end
  return moves and 0 or 1
end

local reply = { 0 }
for i = 2, #ARGV, 3 do reply[#reply + 1] = settle(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
reply[1] = state()
return reply
