-- lease_acquire: acquire leases unless others hold them.
--
-- keys: leases
-- args: lease_s patience_s renewed_s fenced names
--
-- KEYS[1]  leases  hash  name (16 bytes) -> when the lease expires (s since the epoch); where fences
--                        are kept and the fence is not 1, then ":" and the fence
-- ARGV[1]  after how many seconds an acquired lease expires
-- ARGV[2]  after how many seconds a lease that was not renewed may be taken over
-- ARGV[3]  renewed leases that expire within this many seconds are taken over
-- ARGV[4]  1 if each acquisition of a lease that was not released has a higher fence, up to 9
-- ARGV[5]  names, 16 bytes each, concatenated
--
-- Returns a string with one character a name: "0": another caller holds it. "?": another caller
-- acquired it and has not renewed it, so ask again. "1" to "9": acquired; its fence.
-- A lease that expires later than ARGV[1] seconds from now has been renewed.

local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local lease_s, patience_s = tonumber(ARGV[1]), tonumber(ARGV[2])
local renewed_s, fenced = tonumber(ARGV[3]), ARGV[4] == '1'
-- Instants are kept in milliseconds, rounded down: a lease is never longer than it may be.
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
