-- release_permit: report when requests were written, and release their permits.
--
-- keys: slots...
-- args: departures
--
-- KEYS[1..]  {prefix}slot:<domain>   string   the state, see slots.py; one key for each request
-- ARGV[1]  each request, packed <dI4d: when it was written (us; 0: nothing was written), token,
--          interval (us)
--
-- Returns <d now (us).
-- After it the next send is an interval after the latest reported one. A repeated or late report
-- changes nothing, because the instant only moves ahead.
local at = 1
for n = 1, #KEYS do
  local instant, token, interval
  instant, token, interval, at = struct.unpack('<dI4d', ARGV[1], at)
  local state = read_state(KEYS[n])
  local step = interval * state.factor / 100
  if state.holder == token then state.holder, state.held = 0, 0 end
  if instant > state.last then
    local later = math.min(instant - state.last, 60000000)
    state.last, state.lag = instant, math.min(state.lag + later, 2147483647)
    if state.planned > instant then state.planned = state.planned + math.min(later, step) end
    state.planned = math.max(state.planned, instant)
  end
  write_state(KEYS[n], state, step)
end
return struct.pack('<d', now)
