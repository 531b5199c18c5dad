-- pause_until: grant no permit for a domain before an instant, as if a request were sent then.
--
-- keys: slot
-- args: pause
--
-- KEYS[1]  {prefix}slot:<domain>   string   the state, see slots.py
-- ARGV[1]  packed <dd: instant (us), interval (us)
--
-- Returns <d now (us).
-- After it no new slot and no permit is before the instant. A granted permit stays valid. The instant
-- only moves ahead, so a repeated call is harmless.
local instant, interval = struct.unpack('<dd', ARGV[1])
local state = read_state(KEYS[1])
if instant > state.last then state.last, state.lag = instant, 0 end
state.planned = math.max(state.planned, instant)
write_state(KEYS[1], state, step_of(state, interval))
return struct.pack('<d', now)
