-- crawl_leave: a process leaves a crawl.
--
-- keys: members seen spider
-- args: member over
--
-- KEYS[1]  {prefix}scrapy:<crawl>:members  zset    process -> when its membership expires (ms)
-- KEYS[2]  {prefix}scrapy:<crawl>:seen     set     fingerprints of accepted requests
-- KEYS[3]  {prefix}scrapy:<crawl>:spider   string  the crawl's spider, with its arguments
-- ARGV[1]  the process   ARGV[2]  1: the crawl has no requests left and may restart
--
-- Returns how many processes are left. If the crawl is over and none is left, its fingerprints and its
-- spider are deleted.
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time[1] * 1000)
redis.call('ZREM', KEYS[1], ARGV[1])
local left = redis.call('ZCARD', KEYS[1])
if left == 0 and ARGV[2] == '1' then redis.call('DEL', KEYS[2], KEYS[3]) end
return left
