-- spool_idle: list tokens whose bodies were not written or read for a while.
--
-- keys: index
-- args: idle_ms limit
--
-- KEYS[1]  spool.index  zset  token -> when it was last written or read (ms)
-- ARGV[1]  minimum idle time (ms)   ARGV[2]  maximum number of tokens
--
-- Returns the tokens, longest idle first.
local time = redis.call('TIME')
local before = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[1])
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', before, 'LIMIT', 0, ARGV[2])
