-- pause_until: grant no permits for a domain before a certain time, as if a request were sent then.
-- `Limiter.pause` calls it for responses with Retry-After.
--
-- keys: epoch slot
-- args: pause
--
-- KEYS[1]  {prefix}slots:epoch     string   ring version and restart time of the node, see prelude.lua
-- KEYS[2]  {prefix}slot:<domain>   string   the state, see slots.py
-- ARGV[1]  packed <ddd: end of the pause (us), interval (us), the version of the caller's ring
--
-- Returns the error OTHERRING if the node has another ring, else <d now (us).
-- Afterward, no new slot or permit is before the end of the pause. A granted permit stays valid. A pause
-- only gets longer, so calls can be repeated.
local instant, interval, ring = struct.unpack('<ddd', ARGV[1])
if struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH) ~= ring then
  return redis.error_reply(OTHER_RING)
end
local state = read_state(KEYS[2])
if instant > state.last then state.last, state.lag = instant, 0 end
state.planned = math.max(state.planned, instant)
write_state(KEYS[2], state, step_of(state, interval))
return struct.pack('<d', now)
