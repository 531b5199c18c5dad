-- pause_until: let nobody go to a domain before an instant, as if a request had left then.
--
-- keys: slot
-- args: pause
--
-- KEYS[1]  {prefix}slot:<domain>   string   packed state, see state.py
-- ARGV[1]  packed <dd: instant (us), interval (us)
--
-- Returns <d now (us).
-- True after it: neither a new slot nor the door comes before the instant; who holds the door keeps
-- it. An instant only ever moves ahead, so saying it twice is harmless.
local FORMAT = '<ddi4I4I4HB'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local instant, interval = struct.unpack('<dd', ARGV[1])
local planned, last, lag, holder, held, factor, streak = 0, 0, 0, 0, 0, 100, 0
local state = redis.call('GET', KEYS[1])
if state then
  planned, last, lag, holder, held, factor, streak = struct.unpack(FORMAT, state)
end
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
