-- spool_pack: do not count bodies anymore, because a process has them for an open pack.
--
-- keys: spool packed index bodies...
-- args: prefix_bytes
--
-- KEYS[1]    spool          hash    bytes -> the size of the bodies that count
-- KEYS[2]    spool.packed   set     tokens that do not count
-- KEYS[3]    spool.index    zset    token -> when it was last put or read (ms)
-- KEYS[4..]  spool:<token>  string  a body; its token ends in the bytes that it counts for
-- ARGV[1]  length of the prefix of a body's key
--
-- Returns nothing. It is safe to repeat. What is held like this is bounded by the batches that
-- processes hold; the bodies stay until they are freed.
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
