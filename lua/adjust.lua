#!lua
-- Adds units to a sale or takes unsold ones away: stock and total by the same number.
-- ARGV[2..] per adjustment: id, delta (units, negative to take away)
-- Reply[2..] per adjustment: {code, stock after it}
--   0 ADJUSTED  1 ALREADY (this id moved its units before)  2 UNSOLD (stock is too low; nothing moved)
-- Decided once by id, a refusal too, which is kept as 0 units: whoever repeats the call gets the
-- same answer, so that two workers never disagree on what became of one adjustment.
if not LIVE then return { state() } end
local stock, total = tonumber(redis.call('GET', STOCK)) or 0, tonumber(meta[9]) or 0
local moved = false

local function adjust(id, delta)
  local known = redis.call('HGET', ADJUSTED, id)
  if known then return { known == '0' and 2 or 1, stock } end
  if delta < 0 and stock + delta < 0 then
    redis.call('HSET', ADJUSTED, id, '0')
    return { 2, stock }
  end
  redis.call('HSET', ADJUSTED, id, delta)
  stock, total, moved = redis.call('INCRBY', STOCK, delta), redis.call('HINCRBY', META, 'total', delta), true
  return { 0, stock }
end

local reply = { 0 }
for i = 2, #ARGV, 2 do reply[#reply + 1] = adjust(ARGV[i], tonumber(ARGV[i + 1])) end
if moved then
  meta[9] = total
  bump(stock <= 0)
end
reply[1] = state()
return reply
