-- line_due: claim the lines whose time to be looked at has come.
--
-- keys: due waiting taken leases
-- args: most lease_ms prefix_bytes
--
-- KEYS[1]  {prefix}lines:due      zset   domain -> when its line is looked at next (ms)
-- KEYS[2]  {prefix}lines:waiting  zset   domain -> how many requests are in its line
-- KEYS[3]  {prefix}lines:taken    hash   token -> entries that were taken and not settled, in MessagePack
-- KEYS[4]  {prefix}lines:leases   zset   token -> when its entries go back into their lines (ms)
-- ARGV[1]  how many lines to claim   ARGV[2]  after how long others may claim them again (ms)
-- ARGV[3]  length of the lists' prefix, up to and with "line:"
--
-- Returns for each line its domain, and how many requests are in it.
-- After it the entries of processes that died are back in their lines.
even_when_full(KEYS[1])
local MOST_LEASES = 10
local prefix_bytes = tonumber(ARGV[3])
local dead = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, MOST_LEASES)
for _, token in ipairs(dead) do
  local entries = redis.call('HGET', KEYS[3], token)
  if entries then
    entries = cmsgpack.unpack(entries)
    put_back(entries, KEYS[2], prefix_bytes)
    for n = 1, #entries, 2 do
      redis.call('ZADD', KEYS[1], 'LT', now, domain_of(entries[n], prefix_bytes))
    end
  end
  redis.call('HDEL', KEYS[3], token)
  redis.call('ZREM', KEYS[4], token)
end
local answer = {}
local domains = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[1]))
for _, domain in ipairs(domains) do
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), domain)
  answer[#answer + 1] = domain
  answer[#answer + 1] = tonumber(redis.call('ZSCORE', KEYS[2], domain) or 0)
end
return answer
