#!lua
-- Takes reservations off the handoff list, once JetStream has acknowledged them.
-- ARGV[2..] rids
-- Reply[2] how many were listed
if not LIVE then return { state() } end
local gone = 0
for i = 2, #ARGV do gone = gone + redis.call('ZREM', HANDOFF, ARGV[i]) end
return { state(), gone }
