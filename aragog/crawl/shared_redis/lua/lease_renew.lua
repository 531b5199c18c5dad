-- lease_renew: extend leases.
--
-- keys: leases
-- args: lease_s names
--
-- KEYS[1]  leases  hash  name (16 bytes) -> expiry time (s since the epoch) and fencing token
-- ARGV[1]  how many seconds from now the leases expire
-- ARGV[2]  names, 16 bytes each, concatenated
--
-- Returns how many leases were renewed. Released leases stay released.

local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local until_s = now + tonumber(ARGV[1])
until_s = string.format('%.3f', math.floor(until_s * 1000) / 1000)
local renewed, names = 0, ARGV[2]
for at = 1, #names, 16 do
  local name = names:sub(at, at + 15)
  local held = redis.call('HGET', KEYS[1], name)
  if held then
    redis.call('HSET', KEYS[1], name, until_s .. (held:match(':%d$') or ''))
    renewed = renewed + 1
  end
end
return renewed
