-- domain_arrived: report which domains have been taken over under the caller's ring.
--
-- keys: epoch arrived
-- args: ring domains...
--
-- KEYS[1]  {prefix}slots:epoch     string   ring version and restart time of the node, see prelude.lua
-- KEYS[2]  {prefix}slots:arrived   set      domains whose state was taken over under the node's ring version
-- ARGV[1]  the version of the caller's ring   ARGV[2..]  the domains
--
-- Returns the error OTHERRING if the node has another ring. Otherwise <d now (us), then one byte per domain:
-- 1 if it has arrived.
-- Changes nothing.
if struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH) ~= tonumber(ARGV[1]) then
  return redis.error_reply(OTHER_RING)
end
local answers = {struct.pack('<d', now)}
for n = 2, #ARGV do
  answers[n] = string.char(redis.call('SISMEMBER', KEYS[2], ARGV[n]))
end
return table.concat(answers)
