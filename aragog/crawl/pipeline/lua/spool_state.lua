-- spool_state: report how full the spool is, and close or open it for fetches.
--
-- keys: spool
-- args: high_bytes low_bytes
--
-- KEYS[1]  spool  hash  bytes -> the size of all bodies; closed -> 1 if closed
-- ARGV[1]  high level (bytes)   ARGV[2]  low level (bytes)
--
-- Returns {bytes, 1 if closed}. For all callers, the spool is closed from the high level on, until it is
-- below the low level.
redis.call('HDEL', KEYS[1], '')
local state = redis.call('HMGET', KEYS[1], 'bytes', 'closed')
local used, closed = tonumber(state[1] or 0), state[2] and 1 or 0
if closed == 0 and used >= tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'closed', 1)
  closed = 1
elseif closed == 1 and used <= tonumber(ARGV[2]) then
  redis.call('HDEL', KEYS[1], 'closed')
  closed = 0
end
return {used, closed}
