-- sweep: delete expired in-flight entries; each call is one step of a scan.
--
-- keys: in_flight
-- args: cursor
--
-- KEYS[1]  in_flight  hash  url key -> when the entry expires (s since the epoch)
-- ARGV[1]  cursor of the scan; "0" begins a new one
--
-- Returns {next cursor, how many entries were deleted}. It is safe to run at any time and twice. A step
-- reads about 500 entries.

local now = tonumber(redis.call('TIME')[1])
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 500)
local dropped = 0
for i = 1, #page[2], 2 do
  if tonumber(page[2][i + 1]) <= now then
    redis.call('HDEL', KEYS[1], page[2][i])
    dropped = dropped + 1
  end
end
return {page[1], dropped}
