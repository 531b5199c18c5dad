-- pause_until: grant no permit for a domain before an instant, as if a request were sent then.
--
-- keys: slot
-- args: pause
--
-- KEYS[1]  {prefix}slot:<domain>   string   packed state, see state.py
-- ARGV[1]  packed <dd: instant (us), interval (us)
--
-- Returns <d now (us).
-- True after it: no new slot and no permit is before the instant; a granted permit stays valid. The
-- instant only moves ahead, so a repeated call is harmless.
local instant, interval = struct.unpack('<dd', ARGV[1])
local planned, last, lag, holder, held, factor, streak = read_state(KEYS[1])
local step = interval * factor / 100
if instant > last then last, lag = instant, 0 end
planned = math.max(planned, instant)
local keep = math.max(planned, last + held) + step + 1000000 - now
if factor > 100 or streak > 0 then keep = math.max(keep, 3600000000) end
if keep > 0 then
  redis.call('SET', KEYS[1], struct.pack(FORMAT, planned, last, lag, holder, held, factor, streak),
    'PX', math.ceil(keep / 1000))
end
return struct.pack('<d', now)
