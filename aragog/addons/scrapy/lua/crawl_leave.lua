-- crawl_leave: a process leaves a crawl.
--
-- keys: members seen spider
-- args: member over
--
-- KEYS[1]  {prefix}scrapy:<crawl>:members  zset    process -> when it counts as gone (ms)
-- KEYS[2]  {prefix}scrapy:<crawl>:seen     set     fingerprints of requests that were accepted
-- KEYS[3]  {prefix}scrapy:<crawl>:spider   string  the spider of the crawl, with its arguments
-- ARGV[1]  the process   ARGV[2]  1: the crawl has no requests left, and may begin again
--
-- Returns how many processes are left. With the last one of a crawl that is over, its fingerprints
-- and its spider are gone.
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time[1] * 1000)
redis.call('ZREM', KEYS[1], ARGV[1])
local left = redis.call('ZCARD', KEYS[1])
if left == 0 and ARGV[2] == '1' then redis.call('DEL', KEYS[2], KEYS[3]) end
return left
