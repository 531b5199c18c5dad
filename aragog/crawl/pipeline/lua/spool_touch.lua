-- spool_touch: reset the idle time of bodies.
--
-- keys: spool index
-- args: tokens...
--
-- KEYS[1]  spool        hash  the script writes to it first, without effect, so that a full Redis accepts
--                             the rest
-- KEYS[2]  spool.index  zset  token -> when it was last written or read (ms)
-- ARGV[1..]  tokens
--
-- Returns nothing. Tokens without a body are ignored.
redis.call('HDEL', KEYS[1], '')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for n = 1, #ARGV do redis.call('ZADD', KEYS[2], 'XX', now, ARGV[n]) end
