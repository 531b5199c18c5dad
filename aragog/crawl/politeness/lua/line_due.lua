-- line_due: claim the lines that are due for a check.
--
-- keys: due waiting taken leases shares old_due old_leases
-- args: most lease_ms prefix_bytes
--
-- KEYS[1]  {prefix}lines2:due      zset   domain -> when its line is checked next (ms)
-- KEYS[2]  {prefix}lines2:waiting  zset   domain -> how many requests are in its line
-- KEYS[3]  {prefix}lines2:taken    hash   token -> entries taken and not settled, see line_take.lua
-- KEYS[4]  {prefix}lines2:leases   zset   token -> when its entries return to their lines (ms)
-- KEYS[5]  {prefix}lines2:shares   hash   domain -> its shares, see line_prelude.lua
-- KEYS[6]  {prefix}lines:due       zset   lines of version 0.1   KEYS[7]  {prefix}lines:leases  zset   taken from
-- them
-- ARGV[1]  how many lines to claim   ARGV[2]  after how long others may claim them again (ms)
-- ARGV[3]  length of the prefix of the lists, including "line2:"
--
-- Returns how many lines of version 0.1 `line_move` should move; then for each claimed line its domain, how many
-- requests it contains, and its shares.
-- Also returns the entries of dead processes to their lines.
even_when_full(KEYS[1])
local MAX_LEASES = 10
local prefix_bytes = tonumber(ARGV[3])
local dead = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, MAX_LEASES)
for _, token in ipairs(dead) do
  local record = redis.call('HGET', KEYS[3], token)
  if record then
    local entries = cmsgpack.unpack(record)[1]
    put_back(entries, KEYS[2], KEYS[5], prefix_bytes)
    for n = 1, #entries, 2 do
      local _, _, domain = parts_of(entries[n], prefix_bytes)
      redis.call('ZADD', KEYS[1], 'LT', now, domain)
    end
  end
  redis.call('HDEL', KEYS[3], token)
  redis.call('ZREM', KEYS[4], token)
end
local answer = {redis.call('ZCARD', KEYS[6]) + redis.call('ZCARD', KEYS[7])}
local domains = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[1]))
for _, domain in ipairs(domains) do
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), domain)
  answer[#answer + 1] = domain
  answer[#answer + 1] = tonumber(redis.call('ZSCORE', KEYS[2], domain) or 0)
  answer[#answer + 1] = redis.call('HGET', KEYS[5], domain) or ''
end
return answer
