-- line_check: have lines checked soon, even lines that are created in the meantime.
--
-- keys: due
-- args: after_ms domains...
--
-- KEYS[1]  {prefix}lines2:due     zset   domain -> when its line is checked next (ms)
-- ARGV[1]  check within this time (ms)   ARGV[2..]  the domains
--
-- Returns 1.
-- A check of a line that does not exist finds it empty and removes it from KEYS[1].
even_when_full(KEYS[1])
for n = 2, #ARGV do
  redis.call('ZADD', KEYS[1], 'LT', now + tonumber(ARGV[1]), ARGV[n])
end
return 1
