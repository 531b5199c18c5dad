-- confirm: extend the expiry of in-flight entries whose messages were sent.
--
-- keys: in_flight
-- args: ttl_s url_keys
--
-- KEYS[1]  in_flight  hash  url key (16 bytes) -> when the entry expires (s since the epoch)
-- ARGV[1]  a confirmed entry expires after so many seconds
-- ARGV[2]  url keys, 16 bytes each, concatenated
--
-- Returns how many entries were confirmed. An entry that was deleted meanwhile, because its URL is
-- stored already, stays deleted.

local until_s = tostring(tonumber(redis.call('TIME')[1]) + tonumber(ARGV[1]))
local confirmed, keys = 0, ARGV[2]
for at = 1, #keys, 16 do
  local key = keys:sub(at, at + 15)
  if redis.call('HEXISTS', KEYS[1], key) == 1 then
    redis.call('HSET', KEYS[1], key, until_s)
    confirmed = confirmed + 1
  end
end
return confirmed
