-- line_park: put requests into the lines of their domains.
--
-- keys: due waiting shares lists...
-- args: prefix_bytes entries...
--
-- KEYS[1]    {prefix}lines2:due      zset   domain -> when its line is checked next (ms)
-- KEYS[2]    {prefix}lines2:waiting  zset   domain -> how many requests are in its line
-- KEYS[3]    {prefix}lines2:shares   hash   domain -> its shares, see line_prelude.lua
-- KEYS[4..]  {prefix}line2:<priority>:<share>:<domain>   list   the line's requests of one priority and crawl; one
--                                                               key for each request
-- ARGV[1]  length of the lists' prefix, up to and with "line2:"
-- ARGV[2..]  three values for each request: after how long to look at the line (ms), 1 to put it in
--            front of its list, and the entry
--
-- Returns 1.
-- After it each entry is in its list, and each line is checked no later than its entries ask for.
even_when_full(KEYS[1])
local prefix_bytes = tonumber(ARGV[1])
for n = 4, #KEYS do
  local at = 3 * (n - 4) + 2
  local list, domain = listed(KEYS[3], KEYS[n], prefix_bytes)
  redis.call(ARGV[at + 1] == '1' and 'LPUSH' or 'RPUSH', list, ARGV[at + 2])
  redis.call('ZINCRBY', KEYS[2], 1, domain)
  redis.call('ZADD', KEYS[1], 'LT', now + tonumber(ARGV[at]), domain)
end
return 1
