-- spool_pack: stop counting bodies, because a process has them in memory for an open pack.
--
-- keys: spool packed index bodies...
-- args: prefix_bytes
--
-- KEYS[1]    spool          hash    bytes -> the size of the counted bodies
-- KEYS[2]    spool.packed   set     tokens that are not counted
-- KEYS[3]    spool.index    zset    token -> when it was last written or read (ms)
-- KEYS[4..]  spool:<token>  string  a body; its token ends in the bytes that it counts for
-- ARGV[1]  length of the prefix of a body's key
--
-- Returns nothing. Can be repeated. The number of such bodies is limited by the batches that processes
-- hold. They stay until they are freed.
local total = 0
for n = 4, #KEYS do
  local token = string.sub(KEYS[n], ARGV[1] + 1)
  if redis.call('ZSCORE', KEYS[3], token) and redis.call('SADD', KEYS[2], token) == 1 then
    total = total + tonumber(string.match(token, '%.(%d+)$') or 0)
  end
end
if total > 0 then
  redis.call('HINCRBY', KEYS[1], 'bytes', -total)
end
