-- mark: note URLs as waiting, those that are not already.
--
-- KEYS[1]  waiting  hash  url key (16 bytes) -> when the note stops to count (s since the epoch)
-- ARGV[1]  for how many seconds a note counts
-- ARGV[2…] url keys
--
-- Returns a string with one character an URL: "1" newly marked, "0" already waiting.
-- After it every URL is marked; a note that was out of date counts as none.

local now = tonumber(redis.call('TIME')[1])
local until_s = tostring(now + tonumber(ARGV[1]))
local out = {}
for i = 2, #ARGV do
  local found = redis.call('HGET', KEYS[1], ARGV[i])
  if found and tonumber(found) > now then
    out[i - 1] = '0'
  else
    redis.call('HSET', KEYS[1], ARGV[i], until_s)
    out[i - 1] = '1'
  end
end
return table.concat(out)
