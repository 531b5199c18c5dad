-- hosts_report: report how many URLs of open hosts were sent. A host closes when it is empty or its turn is over.
--
-- keys: open next turns
-- args: turn lease_ms tail_ms sent...
--
-- KEYS[1]  {prefix}hosts:<crawl>:open   zset  open host -> when its lease ends (ms)
-- KEYS[2]  {prefix}hosts:<crawl>:next   zset  waiting host -> its position in the queue
-- KEYS[3]  {prefix}hosts:<crawl>:turns  hash  host -> URLs sent since it was opened
-- ARGV[1]  URLs per turn, if other hosts wait   ARGV[2]  the lease of an open host (ms)
-- ARGV[3]  how long after the last report its requests may take (ms)
-- ARGV[4..]  three values per host: its name, how many URLs were sent, 1 if none of its URLs is waiting
--
-- Returns 1.
-- Afterward, a host that is empty or whose turn is over stays open until its requests are done.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function last()
  return tonumber(redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or 0)
end
for n = 4, #ARGV, 3 do
  local host, count, is_empty = ARGV[n], tonumber(ARGV[n + 1]), ARGV[n + 2] == '1'
  local sent = redis.call('HINCRBY', KEYS[3], host, count)
  local is_over = sent >= tonumber(ARGV[1]) and redis.call('ZCARD', KEYS[2]) > 0
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[is_empty and 3 or is_over and 3 or 2]), host)
  if is_over then
    redis.call('HDEL', KEYS[3], host)
    if not is_empty then redis.call('ZADD', KEYS[2], last() + 1, host) end
  end
end
return 1
