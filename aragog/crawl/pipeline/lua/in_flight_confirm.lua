-- in_flight_confirm: record that the messages of URLs were sent.
--
-- keys: in_flight
-- args: counts_for_s named_counts_for_s names
--
-- KEYS[1]  {prefix}in_flight  hash  see in_flight_mark.lua
-- ARGV[1]  lifetime of entries of crawls 0 and 1, in seconds from now   ARGV[2]  of other crawls
-- ARGV[3]  names, 16 bytes each, concatenated
--
-- Returns how many were confirmed. URLs that are done in the meantime are not added again.

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
