-- domain_arrived: report which domains have been taken over under the ring that the caller has.
--
-- keys: epoch arrived
-- args: ring domains...
--
-- KEYS[1]  {prefix}slots:epoch     string   the node's ring and restart, see prelude.lua
-- KEYS[2]  {prefix}slots:arrived   set      domains whose state was taken over under the node's version
-- ARGV[1]  the version of the caller's ring   ARGV[2..]  the domains
--
-- Returns the error OTHERRING if the node has another ring, else <d now (us), then a byte for each domain:
-- 1 if it has arrived.
-- It changes nothing.
if struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH) ~= tonumber(ARGV[1]) then
  return redis.error_reply(OTHER_RING)
end
local answers = {struct.pack('<d', now)}
for n = 2, #ARGV do
  answers[n] = string.char(redis.call('SISMEMBER', KEYS[2], ARGV[n]))
end
return table.concat(answers)
