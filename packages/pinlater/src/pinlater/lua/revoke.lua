-- revoke: store the ids of revoked tasks for workers that start or connect later.
--
-- KEYS[1]  revoked  zset  task id -> when it was revoked (ms)
--
-- ARGV[1]  ids that were revoked longer ago than this are forgotten (ms)
-- ARGV[2]  at most this many are kept, the newest
-- ARGV[3..]  the ids of tasks
--
-- Returns how many are kept.

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
for at = 3, #ARGV do
  redis.call('ZADD', KEYS[1], now, ARGV[at])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[1]))
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return redis.call('ZCARD', KEYS[1])
