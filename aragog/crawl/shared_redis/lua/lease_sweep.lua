-- lease_sweep: delete expired leases, one step of a scan per call.
--
-- keys: leases
-- args: cursor
--
-- KEYS[1]  leases  hash  name (16 bytes) -> expiry time (s since the epoch) and fencing token
-- ARGV[1]  cursor of the scan; "0" starts a new one
--
-- Returns {next cursor, how many leases were deleted}. Can run at any time, and more than once. A
-- step
-- reads about 500 leases.

local now = tonumber(redis.call('TIME')[1])
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 500)
local dropped = 0
for i = 1, #page[2], 2 do
  if tonumber(page[2][i + 1]:match('^[^:]+')) <= now then
    redis.call('HDEL', KEYS[1], page[2][i])
    dropped = dropped + 1
  end
end
return {page[1], dropped}
