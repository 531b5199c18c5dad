-- line_park: add requests to the lines of their domains.
--
-- keys: due waiting shares lists...
-- args: prefix_bytes entries...
--
-- KEYS[1]    {prefix}lines2:due      zset   domain -> when its line is checked next (ms)
-- KEYS[2]    {prefix}lines2:waiting  zset   domain -> how many requests are in its line
-- KEYS[3]    {prefix}lines2:shares   hash   domain -> its shares, see line_prelude.lua
-- KEYS[4..]  {prefix}line2:<priority>:<share>:<domain>   list   the line's requests of one priority and crawl; one
--                                                               key per request
-- ARGV[1]  length of the prefix of the lists, including "line2:"
-- ARGV[2..]  three values per request: after how long to check the line (ms), 1 to add it at the front of its
--            list, and the entry
--
-- Returns 1.
-- Afterward, each entry is in its list, and each line is checked as early as any of its entries asks for.
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
