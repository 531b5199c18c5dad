-- confirm: let notes count for long, now that their messages are sent.
--
-- keys: in_flight
-- args: ttl_s url_keys
--
-- KEYS[1]  waiting  hash  url key (16 bytes) -> when the note stops to count (s since the epoch)
-- ARGV[1]  for how many seconds a note counts from now on
-- ARGV[2]  url keys, 16 bytes each, one behind another
--
-- Returns how many were confirmed. A note that was cleared meanwhile (its URL is already stored)
-- stays cleared.

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
