-- mark: add URLs to the in-flight set unless they are in it already.
--
-- keys: in_flight
-- args: unconfirmed_s taken_over_after_s insist_s url_keys
--
-- KEYS[1]  in_flight  hash  url key (16 bytes) -> when the entry expires (s since the epoch)
-- ARGV[1]  an unconfirmed entry expires after so many seconds
-- ARGV[2]  after how many seconds another producer may take over an unconfirmed entry
-- ARGV[3]  confirmed entries that expire within this many seconds are taken over
-- ARGV[4]  url keys, 16 bytes each, concatenated
--
-- Returns a string with one character a URL: "1": this call added it. "0": it was in the set
-- already. "?": another producer added it and may be sending it at this moment, so ask again.
-- An entry that expires later than ARGV[1] seconds from now has been confirmed.

local now = tonumber(redis.call('TIME')[1])
local unconfirmed_s, theirs_s = tonumber(ARGV[1]), tonumber(ARGV[2])
local until_s = tostring(now + unconfirmed_s)
local takes_s = tonumber(ARGV[3])
local out, keys = {}, ARGV[4]
for at = 1, #keys, 16 do
  local key = keys:sub(at, at + 15)
  local found = redis.call('HGET', KEYS[1], key)
  local left_s = found and tonumber(found) - now or 0
  if left_s > unconfirmed_s and left_s > takes_s then
    out[#out + 1] = '0'
  elseif left_s <= unconfirmed_s and left_s > unconfirmed_s - theirs_s then
    out[#out + 1] = '?'
  else
    redis.call('HSET', KEYS[1], key, until_s)
    out[#out + 1] = '1'
  end
end
return table.concat(out)
