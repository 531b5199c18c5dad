-- in_flight_confirm: record that the messages of URLs were sent.
--
-- keys: in_flight
-- args: counts_for_s named_counts_for_s names
--
-- KEYS[1]  {prefix}in_flight  hash  as in in_flight_mark.lua
-- ARGV[1]  for how many seconds from now an entry of the crawls 0 and 1 counts   ARGV[2]  one of another crawl
-- ARGV[3]  names, 16 bytes each, concatenated
--
-- Returns how many were confirmed. A URL that is done meanwhile stays out of the set.

local now, confirmed, names = tonumber(redis.call('TIME')[1]), 0, ARGV[3]
for at = 1, #names, 16 do
  local name = names:sub(at, at + 15)
  local held = redis.call('HGET', KEYS[1], name)
  if held then
    local members = held:match(':(.*)$')
    local holder = members and tonumber(members:match('^%d+')) or 0
    local until_s = now + tonumber(holder > 1 and ARGV[2] or ARGV[1])
    redis.call('HSET', KEYS[1], name, members and entry_of(until_s, members) or until_s)
    confirmed = confirmed + 1
  end
end
return confirmed
