#!lua flags=no-writes
-- Reads a sale's state and the length and oldest entry of its handoff list.
-- Reply[2] entries, Reply[3] time of the oldest in ms (0 when empty)
if not LIVE then return { state() } end
local oldest = redis.call('ZRANGE', HANDOFF, 0, 0, 'WITHSCORES')
return { state(), redis.call('ZCARD', HANDOFF), tonumber(oldest[2]) or 0 }
