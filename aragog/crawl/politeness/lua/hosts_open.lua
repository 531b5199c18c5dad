-- hosts_open: open hosts of a crawl with a limit of open hosts, in the order in which they were requested.
--
-- keys: open next turns
-- args: most new_lease_ms kept_s hosts...
--
-- KEYS[1]  {prefix}hosts:<crawl>:open   zset  open host -> when its lease ends (ms)
-- KEYS[2]  {prefix}hosts:<crawl>:next   zset  waiting host -> its position in the queue
-- KEYS[3]  {prefix}hosts:<crawl>:turns  hash  host -> URLs sent since it was opened
-- ARGV[1]  the maximum number of open hosts   ARGV[2]  how long a new host stays open without a report (ms)
-- ARGV[3]  seconds after the last call until these keys expire   ARGV[4..]  hosts whose URLs could be sent now
--
-- Returns how many of the requested hosts are open, then their names, then the other hosts that were opened.
-- Afterward, every requested host is open or in the queue.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function last()
  return tonumber(redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or 0)
end
for _, host in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('ZREM', KEYS[1], host)
  redis.call('HDEL', KEYS[3], host)
end
for n = 4, #ARGV do
  if not redis.call('ZSCORE', KEYS[1], ARGV[n]) then
    redis.call('ZADD', KEYS[2], 'NX', last() + 1, ARGV[n])
  end
end
local opened, requested, others = {}, {}, {}
while redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[1]) do
  local host = redis.call('ZPOPMIN', KEYS[2])[1]
  if not host then break end
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), host)
  opened[#opened + 1] = host
end
local is_requested = {}
for n = 4, #ARGV do
  is_requested[ARGV[n]] = true
  if redis.call('ZSCORE', KEYS[1], ARGV[n]) then requested[#requested + 1] = ARGV[n] end
end
for _, host in ipairs(opened) do
  if not is_requested[host] then others[#others + 1] = host end
end
for n = 1, 3 do redis.call('EXPIRE', KEYS[n], tonumber(ARGV[3])) end
local answer = {#requested}
for _, host in ipairs(requested) do answer[#answer + 1] = host end
for _, host in ipairs(others) do answer[#answer + 1] = host end
return answer
