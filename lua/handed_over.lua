#!lua
-- Takes reservations off the handoff list, once JetStream has acknowledged them.
-- ARGV[2..] rids
-- Reply[2] how many were listed
if not LIVE then return { state() } end
local gone = #ARGV > 1 and redis.call('ZREM', HANDOFF, unpack(ARGV, 2)) or 0
return { state(), gone }
