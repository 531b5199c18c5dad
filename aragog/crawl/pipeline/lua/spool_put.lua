-- spool_put: store bodies, either all of them or none.
--
-- keys: spool index bodies...
-- args: limit_bytes prefix_bytes reservation blobs...
--
-- KEYS[1]    spool          hash    bytes -> size of all bodies; closed -> 1 if closed
-- KEYS[2]    spool.index    zset    token -> when it was last written or read (ms)
-- KEYS[3..]  spool:<token>  string  a body; its token ends in the bytes that it counts for
-- ARGV[1]  limit (bytes); 0 for none   ARGV[2]  length of the prefix of a body's key
-- ARGV[3]  token of a reservation that the bodies replace, or ''
-- ARGV[4..]  the bodies, in the order of their keys. Without them, either the transaction has already set
--            the bodies, which saves Redis two copies of each, or the tokens reserve the bytes that they
--            state.
--
-- Returns 1, or 0 if the bodies would exceed the limit and the reservation; then none of them is stored.
-- An empty spool accepts every body. With limit 0, a server with full memory accepts the bodies in ARGV as
-- well, because Redis does not reject a script that has already written something.
local limit, total = tonumber(ARGV[1]), 0
for n = 3, #KEYS do total = total + tonumber(string.match(KEYS[n], '%.(%d+)$')) end
if limit == 0 then redis.call('HDEL', KEYS[1], '') end
local reserved = 0
if ARGV[3] ~= '' and redis.call('ZSCORE', KEYS[2], ARGV[3]) then
  reserved = tonumber(string.match(ARGV[3], '%.(%d+)$'))
end
local used = tonumber(redis.call('HGET', KEYS[1], 'bytes') or 0) - reserved
-- Bodies that fit their reservation are stored, even if later stages have filled the spool meanwhile.
if limit > 0 and used > 0 and total > reserved and used + total > limit then
  for n = 3, #KEYS do redis.call('UNLINK', KEYS[n]) end
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for n = 3, #KEYS do
  if ARGV[n + 1] then redis.call('SET', KEYS[n], ARGV[n + 1]) end
  redis.call('ZADD', KEYS[2], now, string.sub(KEYS[n], ARGV[2] + 1))
end
if reserved > 0 then redis.call('ZREM', KEYS[2], ARGV[3]) end
redis.call('HINCRBY', KEYS[1], 'bytes', total - reserved)
return 1
