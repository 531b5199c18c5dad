-- line_settle: end what `line_take` began, and set when the lines are looked at next.
--
-- keys: due waiting taken leases
-- args: token prefix_bytes returned rest...
--
-- KEYS[1]  {prefix}lines:due      zset   domain -> when its line is looked at next (ms)
-- KEYS[2]  {prefix}lines:waiting  zset   domain -> how many requests are in its line
-- KEYS[3]  {prefix}lines:taken    hash   token -> entries that were taken and not settled, in MessagePack
-- KEYS[4]  {prefix}lines:leases   zset   token -> when its entries go back into their lines (ms)
-- ARGV[1]  the token of `line_take`   ARGV[2]  length of the lists' prefix, up to and with "line:"
-- ARGV[3]  how many entries go back into their lines
-- ARGV[4..]  a list's key and an entry for each of these; then for each line its domain, and after how
--            long to look at it again (ms)
--
-- Returns 1, or 0 if the lease had ended: then all entries are in their lines again already.
-- After it an empty line is gone, and every other line has its next look.
even_when_full(KEYS[1])
local back, at = {}, 4
for n = 1, 2 * tonumber(ARGV[3]) do
  back[n], at = ARGV[at], at + 1
end
local leased = redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
if leased == 1 then put_back(back, KEYS[2], tonumber(ARGV[2])) end
for n = at, #ARGV, 2 do
  if tonumber(redis.call('ZSCORE', KEYS[2], ARGV[n]) or 0) > 0 then
    redis.call('ZADD', KEYS[1], now + tonumber(ARGV[n + 1]), ARGV[n])
  else
    redis.call('ZREM', KEYS[1], ARGV[n])
    redis.call('ZREM', KEYS[2], ARGV[n])
  end
end
return leased
