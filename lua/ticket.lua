#!lua flags=no-writes
-- Reads tickets with the epoch, in one call: nil means "not there" only beside a live state.
-- ARGV[2] user ('' to read by rid); ARGV[3..] rids
-- Reply[2..] {rid, ticket fields 1..9}, or {} for a rid that is not there;
--            for a user the last reservation of each slot, in slot order
if not LIVE then return { state() } end
local reply = { state() }

local function add(rid)
  local t = rid and ticket(rid)
  reply[#reply + 1] = t and { rid, t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9] } or {}
end

if ARGV[2] == '' then
  for i = 3, #ARGV do add(ARGV[i]) end
else
  for slot = 1, LIMIT do
    local rid = redis.call('HGET', SLOTS, ARGV[2] .. '#' .. slot)
    if rid then add(rid) end
  end
end
return reply
