#!lua
-- Loads a part of an epoch that is still fenced. Repeating a part changes nothing.
-- ARGV[2] token of the fence; ARGV[3] part: 'allow' | 'adjusted' | 'tickets'
-- ARGV[4..] allow: users; adjusted: id, delta; tickets, in order of rank: rid, holds_slot, open (0 | 1), ticket fields 1..10
-- Reply[2] 1 when loaded, 0 when the fence is not this loader's
local token, part = ARGV[2], ARGV[3]
if meta[1] ~= EPOCH or meta[2] ~= 'loading' or meta[12] ~= token then return { state(), 0 } end

local function load_ticket(i)
  local rid, holds, open = ARGV[i], ARGV[i + 1] == '1', ARGV[i + 2] == '1'
  local user, slot, key, rank, status, reason = unpack(ARGV, i + 3, i + 8)
  local created, updated, pay_by, served = unpack(ARGV, i + 9, i + 12)
  store(rid, { user, tonumber(slot), key, tonumber(rank), status, reason,
    tonumber(created), tonumber(updated), tonumber(pay_by), tonumber(served) })
  local name, bound = user .. '#' .. slot, user .. '\n' .. key
  if holds or redis.call('SISMEMBER', BUYERS, name) == 0 then redis.call('HSET', SLOTS, name, rid) end
  if holds then redis.call('SADD', BUYERS, name) end
  if open then
    redis.call('HSET', BOUND, bound, rid)
  elseif key ~= '' then
    redis.call('HSETNX', BOUND, bound, rid)
  end
end

if part == 'allow' then
  for i = 4, #ARGV, 1000 do redis.call('SADD', ALLOW, unpack(ARGV, i, math.min(i + 999, #ARGV))) end
elseif part == 'adjusted' then
  for i = 4, #ARGV, 2 do redis.call('HSET', ADJUSTED, ARGV[i], ARGV[i + 1]) end
else
  for i = 4, #ARGV, 13 do load_ticket(i) end
end
return { state(), 1 }
