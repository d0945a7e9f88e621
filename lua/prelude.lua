-- Prelude of every script: names the keys of one sale at one epoch, reads meta
-- once, and builds the state that every reply begins with.
-- KEYS     the eleven keys of the sale, in the order named below
-- ARGV[1]  epoch the caller believes in
-- Reply[1] {live, epoch, version, sold_out, paused, opens_ms, closes_ms, now_ms,
--           limit, total, stock, rank, accepted, served, unpaid, given}; live = 0
--           means STALE: the epoch is another one, is being loaded, or is gone in
--           whole or in part, or another process of Redis made it live than the one
--           that executes this; nothing was read or written beyond meta.
local META, STOCK, BUYERS, SLOTS, BOUND, TICKETS, HANDOFF, COUNTERS, ALLOW, ADJUSTED, ALLOWING = unpack(KEYS)
local EPOCH = ARGV[1]
local clock = redis.call('TIME')
local NOW = clock[1] * 1000 + math.floor(clock[2] / 1000)
local meta = redis.call('HMGET', META, 'epoch', 'state', 'version', 'sold_out', 'paused',
  'opens_ms', 'closes_ms', 'limit', 'total', 'rebuy', 'allow', 'token', 'run_id')

-- A Redis that was started again or took over may have lost the last seconds of
-- what was acknowledged, and says so by its run id alone.
local function same_process()
  local run_id = meta[13]
  return run_id and run_id ~= '' and redis.call('INFO', 'server'):find('run_id:' .. run_id, 1, true) ~= nil
end

-- Once a rank was given there are tickets; before, there are none. The other keys
-- may be empty, and are then not there.
local function whole()
  local there = redis.call('EXISTS', STOCK, COUNTERS, TICKETS, SLOTS)
  return there == 4 or there == 2 and redis.call('EXISTS', STOCK) == 1 and redis.call('HGET', COUNTERS, 'rank') == '0'
end
local LIVE = meta[1] == EPOCH and meta[2] == 'live' and same_process() and whole()
local OPENS, CLOSES, LIMIT = tonumber(meta[6]) or 0, tonumber(meta[7]) or 0, tonumber(meta[8]) or 0
local PAUSED, REBUY, ALLOW_LISTED = meta[5] == '1', meta[10] == '1', meta[11] == '1'
local version, sold_out = tonumber(meta[3]) or 0, meta[4] == '1'

local function state()
  local s = { LIVE and 1 or 0, tonumber(meta[1]) or 0, version, sold_out and 1 or 0, PAUSED and 1 or 0,
    OPENS, CLOSES, NOW, LIMIT, tonumber(meta[9]) or 0, 0, 0, 0, 0, 0, 0 }
  if LIVE then
    s[11] = tonumber(redis.call('GET', STOCK)) or 0
    local c = redis.call('HMGET', COUNTERS, 'rank', 'accepted', 'served', 'unpaid', 'given')
    for i = 1, 5 do s[11 + i] = tonumber(c[i]) or 0 end
  end
  return s
end

-- The version rises with every change that a gateway must learn of.
local function bump(flag)
  sold_out = flag
  version = redis.call('HINCRBY', META, 'version', 1)
  redis.call('HSET', META, 'sold_out', flag and '1' or '0')
end

-- A ticket is stored as a JSON array, so that an operator can read it with HGET:
-- [user, slot, key, rank, status, reason, created_ms, updated_ms, pay_by_ms, served].
local function ticket(rid)
  local packed = redis.call('HGET', TICKETS, rid)
  return packed and cjson.decode(packed)
end
local function store(rid, t) redis.call('HSET', TICKETS, rid, cjson.encode(t)) end

-- A rid leaves handoff and counts as served once, whoever brings its outcome.
local function serve(rid, t)
  redis.call('ZREM', HANDOFF, rid)
  if t[10] == 0 then
    t[10] = 1
    redis.call('HINCRBY', COUNTERS, 'served', 1)
  end
end
