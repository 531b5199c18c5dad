-- lease_acquire: acquire leases that no other caller holds.
--
-- keys: leases
-- args: lease_s patience_s renewed_s fenced names
--
-- KEYS[1]  leases  hash  name (16 bytes) -> expiry time (s since the epoch), followed by ":" and
--                        the fencing token if that is not 1
-- ARGV[1]  lifetime of an acquired lease, in seconds
-- ARGV[2]  after how many seconds a lease that was not renewed may be taken over
-- ARGV[3]  renewed leases that expire within this many seconds are taken over
-- ARGV[4]  1 to give each holder of an unreleased lease a higher fencing token, up to 9
-- ARGV[5]  names, 16 bytes each, concatenated
--
-- Returns a string with one character per name. "0": another caller holds the lease. "?": another
-- caller acquired it and has not renewed it yet, so try again later. "1" to "9": acquired, with
-- this
-- fencing token. A lease that expires later than ARGV[1] seconds from now has been renewed.

local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local lease_s, patience_s = tonumber(ARGV[1]), tonumber(ARGV[2])
local renewed_s, fenced = tonumber(ARGV[3]), ARGV[4] == '1'
-- Times are stored in milliseconds, rounded down, so that a lease never lasts too long.
local fresh_s = lease_s + 0.001
local until_s = now + lease_s
until_s = string.format('%.3f', math.floor(until_s * 1000) / 1000)
local out, names = {}, ARGV[5]
for at = 1, #names, 16 do
  local name = names:sub(at, at + 15)
  local held = redis.call('HGET', KEYS[1], name)
  local left_s = held and tonumber(held:match('^[^:]+')) - now or 0
  if left_s > fresh_s and left_s > renewed_s then
    out[#out + 1] = '0'
  elseif left_s <= fresh_s and left_s > fresh_s - patience_s then
    out[#out + 1] = '?'
  else
    local fence = 1
    if held and fenced then
      fence = math.min(tonumber(held:match(':(%d)$') or 1) + 1, 9)
    end
    redis.call('HSET', KEYS[1], name, fence > 1 and until_s .. ':' .. fence or until_s)
    out[#out + 1] = tostring(fence)
  end
end
return table.concat(out)
