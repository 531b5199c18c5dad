-- spool_free: delete bodies and subtract their bytes from the total.
--
-- keys: spool packed index bodies...
-- args: prefix_bytes idle_ms
--
-- KEYS[1]    spool          hash    bytes -> the size of the counted bodies
-- KEYS[2]    spool.packed   set     tokens that are not counted, see spool_pack
-- KEYS[3]    spool.index    zset    token -> when it was last written or read (ms)
-- KEYS[4..]  spool:<token>  string  a body; its token ends in the bytes that it counts for
-- ARGV[1]  length of the prefix of a body's key
-- ARGV[2]  delete only bodies that were not written or read for this long (ms); 0 to delete all
--
-- Returns how many bodies were deleted. Can be repeated, because each token is subtracted only once.
local time = redis.call('TIME')
local before = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
local total, freed = 0, 0
for n = 4, #KEYS do
  local token = string.sub(KEYS[n], ARGV[1] + 1)
  local touched = tonumber(redis.call('ZSCORE', KEYS[3], token) or before + 1)
  if (ARGV[2] == '0' or touched <= before) and redis.call('ZREM', KEYS[3], token) == 1 then
    redis.call('UNLINK', KEYS[n])
    if redis.call('SREM', KEYS[2], token) == 0 then
      total = total + tonumber(string.match(token, '%.(%d+)$') or 0)
    end
    freed = freed + 1
  end
end
if redis.call('ZCARD', KEYS[3]) == 0 then
  redis.call('HDEL', KEYS[1], 'bytes')
  redis.call('UNLINK', KEYS[2])
elseif total > 0 then
  redis.call('HINCRBY', KEYS[1], 'bytes', -total)
end
return freed
