-- The attempts of one reserve call, between prelude and reserve: what there is about all
-- of them is read by one command a key, and what is accepted is written by one command a
-- key, once all are decided. So a call that fails has written nothing.
-- ARGV as in reserve.
local rids, users, keys, bindings, names, now = {}, {}, {}, {}, {}, tostring(NOW)
for i = 3, LIVE and #ARGV or 0, 3 do
  local n, rid, user, key = i / 3, ARGV[i], ARGV[i + 1], ARGV[i + 2]
  rids[n], users[n], keys[n], bindings[n], names[n] = rid, user, key, user .. '\n' .. key, user .. '#1'
end

-- Values by name. What is accepted is put beside what was found.
local function find(command, key, fields)
  if #fields == 0 then return {} end
  local found = redis.call(command, key, unpack(fields))
  for n, field in ipairs(fields) do found[field] = found[n] end
  return found
end
local tickets, bound, full = find('HMGET', TICKETS, rids), find('HMGET', BOUND, bindings), find('SMISMEMBER', BUYERS, names)
local listed, last, taken = {}, {}, 0
local to_tickets, to_slots, to_bound, to_handoff, to_buyers = {}, {}, {}, {}, {}

-- The reply for an attempt that reservation rid answers; nil if it has no ticket, or one
-- that cannot be read: the others of this call must not be the worse for it.
local function held(code, rid)
  local readable, t = pcall(cjson.decode, tickets[rid] or redis.call('HGET', TICKETS, rid))
  if not readable or type(t) ~= 'table' or type(t[4]) ~= 'number' then return nil end
  local waits = listed[rid] or redis.call('ZSCORE', HANDOFF, rid)
  return { code, rid, waits and 1 or 0, unpack(t, 1, 9) }
end

-- The ticket is what store makes of it.
local function accept(rid, binding, name, user, slot, key, rank)
  local packed = '[' .. cjson.encode(user) .. ',' .. slot .. ',' .. cjson.encode(key) .. ',' .. rank ..
    ',"queued","",' .. now .. ',' .. now .. ',0,0]'
  tickets[rid], bound[binding], full[name], listed[rid], last[name] = packed, rid, 1, true, rid
  taken = taken + 1
  local n = 2 * taken
  to_tickets[n - 1], to_slots[n - 1], to_bound[n - 1], to_handoff[n - 1] = rid, name, binding, now
  to_tickets[n], to_slots[n], to_bound[n], to_handoff[n], to_buyers[taken] = packed, rid, rid, rid, name
end

local function write()
  if taken == 0 then return end
  redis.call('HSET', TICKETS, unpack(to_tickets))
  redis.call('HSET', SLOTS, unpack(to_slots))
  redis.call('HSET', BOUND, unpack(to_bound))
  redis.call('ZADD', HANDOFF, unpack(to_handoff))
  redis.call('SADD', BUYERS, unpack(to_buyers))
  redis.call('DECRBY', STOCK, taken)
  for _, name in ipairs({ 'rank', 'accepted', 'unpaid' }) do redis.call('HINCRBY', COUNTERS, name, taken) end
end
