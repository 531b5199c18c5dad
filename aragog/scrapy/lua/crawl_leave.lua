-- crawl_leave: a process leaves a crawl.
--
-- keys: members seen
-- args: member over
--
-- KEYS[1]  {prefix}scrapy:<crawl>:members  zset  process -> when it counts as gone (ms)
-- KEYS[2]  {prefix}scrapy:<crawl>:seen     set   fingerprints of requests that were accepted
-- ARGV[1]  the process   ARGV[2]  1: the crawl has no requests left, and may begin again
--
-- Returns how many processes are left. With the last one of a crawl that is over, its fingerprints
-- are gone.
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time[1] * 1000)
redis.call('ZREM', KEYS[1], ARGV[1])
local left = redis.call('ZCARD', KEYS[1])
if left == 0 and ARGV[2] == '1' then redis.call('DEL', KEYS[2]) end
return left
