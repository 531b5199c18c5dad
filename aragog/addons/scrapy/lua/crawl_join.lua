-- crawl_join: a process joins a crawl, or reports that it is still there.
--
-- keys: members seen spider
-- args: member lease_ms keep_ms begins waits description check_only alone
--
-- KEYS[1]  {prefix}scrapy:<crawl>:members  zset    process -> when it counts as gone (ms)
-- KEYS[2]  {prefix}scrapy:<crawl>:seen     set     fingerprints of requests that were accepted
-- KEYS[3]  {prefix}scrapy:<crawl>:spider   string  the spider of the crawl, with its arguments
-- ARGV[1]  the process   ARGV[2]  how long it counts as present
-- ARGV[3]  how long the fingerprints outlive the last call
-- ARGV[4]  1: forget the fingerprints if no other process is there: a new crawl begins
-- ARGV[5]  1: requests of the crawl wait or run
-- ARGV[6]  the spider of the process, with its arguments; empty: it has joined before
-- ARGV[7]  1: only find out whether it may join
-- ARGV[8]  1: join only if no other process is there
--
-- Returns how many processes are there, this one included. If the crawl belongs to another spider,
-- nothing changes, and that spider is returned. A crawl belongs to its spider for as long as
-- another process is there, or requests wait. If others prevent it, nothing changes either, and the
-- result is their number, negative.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREM', KEYS[1], ARGV[1])
local others = redis.call('ZCARD', KEYS[1])
if ARGV[8] == '1' and others > 0 then return -others end
if ARGV[6] ~= '' then
  local owner = redis.call('GET', KEYS[3])
  if owner and owner ~= ARGV[6] and (others > 0 or ARGV[5] == '1') then return owner end
  if ARGV[7] == '1' then return others + 1 end
  redis.call('SET', KEYS[3], ARGV[6])
end
if ARGV[4] == '1' and others == 0 then redis.call('DEL', KEYS[2]) end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, tonumber(ARGV[3])) end
return others + 1
