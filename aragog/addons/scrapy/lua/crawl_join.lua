-- crawl_join: a process joins a crawl, or renews its membership.
--
-- keys: members seen spider
-- args: member lease_ms keep_ms begins waits description check_only alone
--
-- KEYS[1]  {prefix}scrapy:<crawl>:members  zset    process -> when its membership expires (ms)
-- KEYS[2]  {prefix}scrapy:<crawl>:seen     set     fingerprints of accepted requests
-- KEYS[3]  {prefix}scrapy:<crawl>:spider   string  the crawl's spider, with its arguments
-- ARGV[1]  the process   ARGV[2]  how long the membership lasts
-- ARGV[3]  how long the fingerprints are kept after the last call
-- ARGV[4]  1: forget the fingerprints if there is no other process, because a new crawl begins
-- ARGV[5]  1: requests of the crawl are queued or running
-- ARGV[6]  the process's spider, with its arguments; empty to renew the membership
-- ARGV[7]  1: only check whether the process may join
-- ARGV[8]  1: join only if there is no other process
--
-- Returns how many processes are members, including this one. If the crawl belongs to another spider,
-- nothing changes, and that spider is returned. A crawl belongs to its spider as long as another
-- process is a member, or requests are queued. If other members prevent joining, nothing changes
-- either, and their number is returned as a negative number.
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
