-- line_look: have lines checked soon, even those that are put up meanwhile.
--
-- keys: due
-- args: after_ms domains...
--
-- KEYS[1]  {prefix}lines2:due     zset   domain -> when its line is checked next (ms)
-- ARGV[1]  within how long to check (ms)   ARGV[2..]  the domains
--
-- Returns 1.
-- After it each line is checked no later than asked for. A look finds a line that is not there empty,
-- and forgets it.
even_when_full(KEYS[1])
for n = 2, #ARGV do
  redis.call('ZADD', KEYS[1], 'LT', now + tonumber(ARGV[1]), ARGV[n])
end
return 1
