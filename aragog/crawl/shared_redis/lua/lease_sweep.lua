-- lease_sweep: delete expired leases; each call is one step of a scan.
--
-- keys: leases
-- args: cursor
--
-- KEYS[1]  leases  hash  name (16 bytes) -> when the lease expires (s since the epoch), and its fence
-- ARGV[1]  cursor of the scan; "0" begins a new one
--
-- Returns {next cursor, how many leases were deleted}. It is safe to run at any time and twice. A step
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
