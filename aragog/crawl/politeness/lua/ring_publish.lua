-- ring_publish: replace the record of the limiter's ring by one with a higher version.
--
-- keys: ring
-- args: version record replaces
--
-- KEYS[1]  {prefix}limiter.ring   hash   version and record of the ring; known:<node> -> 1 for each node
--                                        that ever had a ring
-- ARGV[1]  the version of the new record   ARGV[2]  the new record
-- ARGV[3]  the version to replace; empty for any lower version
--
-- Returns the record that is stored afterward.
-- Versions only grow: a lower version, or a mismatch with ARGV[3], changes nothing.
local stored = redis.call('HGET', KEYS[1], 'version') or '0'
local replaced = ARGV[3] == '' and tonumber(stored) < tonumber(ARGV[1]) or stored == ARGV[3]
if replaced and tonumber(stored) < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'version', ARGV[1], 'record', ARGV[2])
end
return redis.call('HGET', KEYS[1], 'record')
