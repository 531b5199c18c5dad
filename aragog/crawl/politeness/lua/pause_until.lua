-- pause_until: grant no permit for a domain before an instant, as if a request were sent then.
-- `Limiter.pause` calls it where a response says Retry-After.
--
-- keys: epoch slot
-- args: pause
--
-- KEYS[1]  {prefix}slots:epoch     string   the node's ring and restart, see prelude.lua
-- KEYS[2]  {prefix}slot:<domain>   string   the state, see slots.py
-- ARGV[1]  packed <ddd: instant (us), interval (us), the version of the caller's ring
--
-- Returns the error OTHERRING if the node has another ring, else <d now (us).
-- After it no new slot and no permit is before the instant. A granted permit stays valid. The instant
-- only moves ahead, so a repeated call is harmless.
local instant, interval, ring = struct.unpack('<ddd', ARGV[1])
if struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH) ~= ring then
  return redis.error_reply(OTHER_RING)
end
local state = read_state(KEYS[2])
if instant > state.last then state.last, state.lag = instant, 0 end
state.planned = math.max(state.planned, instant)
write_state(KEYS[2], state, step_of(state, interval))
return struct.pack('<d', now)
