-- ring_install: store the record of the ring on a node, which then refuses callers with another ring.
--
-- keys: epoch ring arrived
-- args: version record restart_version hold_us blank_is_restart
--
-- KEYS[1]  {prefix}slots:epoch     string   ring version and restart time of the node, see prelude.lua
-- KEYS[2]  {prefix}slots:ring      hash     version and record of the ring, as a copy for callers
-- KEYS[3]  {prefix}slots:arrived   set      domains whose state was taken over under this version
-- ARGV[1]  the version of the record   ARGV[2]  the record
-- ARGV[3]  a node with a copy older than this version counts as restarted, because another node lost state
-- ARGV[4]  how long a pre-granted permit lasts (us)
-- ARGV[5]  1 if a node without a copy has lost it and counts as restarted, else 0
--
-- Returns the record that the node has afterward: a different one if its version is higher.
-- Versions only grow. Can be repeated.
local known = tonumber(redis.call('HGET', KEYS[2], 'version') or 0)
local wanted = tonumber(ARGV[1])
if known > wanted then return redis.call('HGET', KEYS[2], 'record') end
local version, restart = struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH)
if version ~= wanted then
  if known < wanted then
    local lost = known == 0 and ARGV[5] == '1' or known > 0 and known < tonumber(ARGV[3])
    if lost then restart = math.max(restart, now + ARGV[4]) end
    redis.call('UNLINK', KEYS[3])
    redis.call('HSET', KEYS[2], 'version', ARGV[1], 'record', ARGV[2])
  end
  redis.call('SET', KEYS[1], struct.pack(EPOCH, wanted, restart))
end
return ARGV[2]
