-- crawl_log_add: append rows to the crawl log, even if the server's memory is full.
--
-- keys: crawl_log
-- args: rows...
--
-- KEYS[1]  {prefix}crawl_log   stream   ID by the server's clock -> row (JSON)
-- ARGV     the rows
--
-- Returns nothing. The first command has no effect: Redis does not reject a script because of full memory
-- after the script has written something. The batch that waits for its rows frees more memory than they take.
redis.call('XDEL', KEYS[1], '0-0')
for _, row in ipairs(ARGV) do
  redis.call('XADD', KEYS[1], '*', 'r', row)
end
