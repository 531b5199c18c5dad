-- line_take: take requests from lines, the most urgent first.
--
-- keys: waiting taken leases
-- args: token lease_ms prefix asks...
--
-- KEYS[1]  {prefix}lines:waiting  zset   domain -> how many requests are in its line
-- KEYS[2]  {prefix}lines:taken    hash   token -> entries that were taken and not settled, in MessagePack
-- KEYS[3]  {prefix}lines:leases   zset   token -> when its entries go back into their lines (ms)
-- ARGV[1]  the token that settles them   ARGV[2]  after how long they go back without it (ms)
-- ARGV[3]  the lists' prefix, up to and with "line:"
-- ARGV[4..]  two values for each line: its domain, and how many requests to take
--
-- Returns a list's key and an entry for each request, in the order in which they should be sent.
-- After it the entries are in no line; they return to theirs unless they are settled in time.
even_when_full(KEYS[1])
local taken = {}
for n = 4, #ARGV, 2 do
  local domain, left = ARGV[n], tonumber(ARGV[n + 1])
  local before = #taken
  for priority = 0, PRIORITIES - 1 do
    if left <= 0 then break end
    local list = ARGV[3] .. priority .. ':' .. domain
    local entries = redis.call('LRANGE', list, 0, left - 1)
    if #entries > 0 then redis.call('LTRIM', list, #entries, -1) end
    for _, entry in ipairs(entries) do
      taken[#taken + 1], taken[#taken + 2] = list, entry
    end
    left = left - #entries
  end
  if left > 0 then
    redis.call('ZADD', KEYS[1], 0, domain)
  elseif #taken > before then
    redis.call('ZINCRBY', KEYS[1], (before - #taken) / 2, domain)
  end
end
if #taken > 0 then
  redis.call('HSET', KEYS[2], ARGV[1], cmsgpack.pack(taken))
  redis.call('ZADD', KEYS[3], now + tonumber(ARGV[2]), ARGV[1])
end
return taken
