-- crawl_join: a process joins a crawl, or says that it is still there.
--
-- keys: members seen
-- args: member lease_ms keep_ms begins
--
-- KEYS[1]  {prefix}scrapy:<crawl>:members  zset  process -> when it counts as gone (ms)
-- KEYS[2]  {prefix}scrapy:<crawl>:seen     set   fingerprints of requests that were accepted
-- ARGV[1]  the process   ARGV[2]  how long it counts as present
-- ARGV[3]  how long the fingerprints outlive the last call
-- ARGV[4]  1: forget the fingerprints if no other process is there: a new crawl begins
--
-- Returns how many processes are there, this one included.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREM', KEYS[1], ARGV[1])
if ARGV[4] == '1' and redis.call('ZCARD', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[2], tonumber(ARGV[3]))
return redis.call('ZCARD', KEYS[1])
