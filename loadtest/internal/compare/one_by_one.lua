-- One attempt of the baseline one_by_one.
-- KEYS: stock (number), buyers (set). ARGV: user.
-- Returns 1 for a unit, 2 if the user has one, 0 if none is left.
local stock, buyers = KEYS[1], KEYS[2]
local user = ARGV[1]

if redis.call('SISMEMBER', buyers, user) == 1 then
    return 2
end
if tonumber(redis.call('GET', stock) or '0') <= 0 then
    return 0
end
redis.call('SADD', buyers, user)
redis.call('DECR', stock)
return 1
