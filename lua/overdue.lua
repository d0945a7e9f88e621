#!lua flags=no-writes
-- Lists reservations that have waited for their hand-over too long, oldest first; those
-- dated in the future too: the clock went back, and nobody else would ever hand them over.
-- ARGV[2] age in ms beyond which one is overdue; ARGV[3] the most to return
-- Reply[2..] {rid, ticket fields 1..9}
if not LIVE then return { state() } end
local age, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local reply = { state() }
local function add(from, to)
  for _, rid in ipairs(redis.call('ZRANGEBYSCORE', HANDOFF, from, to, 'LIMIT', 0, most)) do
    local t = #reply <= most and ticket(rid)
    if t then reply[#reply + 1] = { rid, t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9] } end
  end
end
add('-inf', NOW - age)
add(NOW + 1000, '+inf')
return reply
