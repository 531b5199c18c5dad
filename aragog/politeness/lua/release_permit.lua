-- release_permit: report when requests were written, and release their permits.
--
-- keys: slots...
-- args: departures
--
-- KEYS[1..]  {prefix}slot:<domain>   string   packed state, see state.py; one key a departure
-- ARGV[1]  a departure each, packed <dI4d: instant (us; 0: nothing was written), token, interval (us)
--
-- Returns <d now (us).
-- True after it: the next send is an interval after the latest reported one. A repeated or late
-- report changes nothing: the instant only moves ahead.
local at = 1
for n = 1, #KEYS do
  local instant, token, interval
  instant, token, interval, at = struct.unpack('<dI4d', ARGV[1], at)
  local planned, last, lag, holder, held, factor, streak = read_state(KEYS[n])
  local step = interval * factor / 100
  if holder == token then holder, held = 0, 0 end
  if instant > last then
    local later = math.min(instant - last, 60000000)
    last, lag = instant, math.min(lag + later, 2147483647)
    if planned > instant then planned = planned + math.min(later, step) end
    planned = math.max(planned, instant)
  end
  local keep = math.max(planned, last + held) + step + 1000000 - now
  if factor > 100 or streak > 0 then keep = math.max(keep, 3600000000) end
  if keep > 0 then
    redis.call('SET', KEYS[n],
      struct.pack(FORMAT, planned, last, lag, holder, held, factor, streak),
      'PX', math.ceil(keep / 1000))
  end
end
return struct.pack('<d', now)
