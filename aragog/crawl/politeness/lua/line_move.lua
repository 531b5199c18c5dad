-- line_move: move requests from lines of version 0.1 to the current lines.
--
-- keys: due waiting shares old_due old_waiting old_taken old_leases
-- args: prefix old_prefix most
--
-- KEYS[1]  {prefix}lines2:due      zset   domain -> when its line is checked next (ms)
-- KEYS[2]  {prefix}lines2:waiting  zset   domain -> how many requests are in its line
-- KEYS[3]  {prefix}lines2:shares   hash   domain -> its shares, see line_prelude.lua
-- KEYS[4]  {prefix}lines:due       zset   domain -> when its line is checked next (ms)
-- KEYS[5]  {prefix}lines:waiting   zset   domain -> how many requests are in its line
-- KEYS[6]  {prefix}lines:taken     hash   token -> entries taken and not settled, in MessagePack
-- KEYS[7]  {prefix}lines:leases    zset   token -> when its entries return to their lines (ms)
-- ARGV[1]  the prefix of the current lists, including "line2:"   ARGV[2]  that of 0.1:
-- {prefix}line:<priority>:<domain>
-- ARGV[3]  how many entries to move one by one at most
--
-- Returns how many lines of 0.1 are left.
-- Moved entries go to share 0, which belongs to no crawl, behind the entries that already wait there. If that share
-- has
-- no entries, the whole list is renamed. Workers of 0.1 that run at the same time find what they took already
-- settled.
even_when_full(KEYS[1])
local MAX_LINES = 50
local left = tonumber(ARGV[3])
for _, token in ipairs(redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', now, 'LIMIT', 0, 10)) do
  local entries = redis.call('HGET', KEYS[6], token)
  entries = entries and cmsgpack.unpack(entries) or {}
  for n = #entries - 1, 1, -2 do
    redis.call('LPUSH', entries[n], entries[n + 1])
    redis.call('ZADD', KEYS[4], 'LT', now, string.sub(entries[n], #ARGV[2] + 3))
  end
  redis.call('HDEL', KEYS[6], token)
  redis.call('ZREM', KEYS[7], token)
end

local function move(from, to)
  if redis.call('EXISTS', to) == 0 then
    local count = redis.call('LLEN', from)
    redis.call('RENAME', from, to)
    return count
  end
  local entries = redis.call('LRANGE', from, 0, left - 1)
  for _, entry in ipairs(entries) do redis.call('RPUSH', to, entry) end
  redis.call('LTRIM', from, #entries, -1)
  left = left - #entries
  return #entries
end

for _, domain in ipairs(redis.call('ZRANGE', KEYS[4], 0, MAX_LINES - 1)) do
  local is_empty = true
  for priority = 0, 9 do
    local from = ARGV[2] .. priority .. ':' .. domain
    if left > 0 and redis.call('EXISTS', from) == 1 then
      local to = listed(KEYS[3], ARGV[1] .. priority .. ':0:' .. domain, #ARGV[1])
      redis.call('ZINCRBY', KEYS[2], move(from, to), domain)
    end
    is_empty = is_empty and redis.call('EXISTS', from) == 0
  end
  redis.call('ZADD', KEYS[1], 'LT', now, domain)
  if is_empty then
    redis.call('ZREM', KEYS[4], domain)
    redis.call('ZREM', KEYS[5], domain)
  end
end
return redis.call('ZCARD', KEYS[4]) + redis.call('ZCARD', KEYS[7])
