-- What the limiter's scripts begin with: the time, and a domain's state.
--
-- KEYS[1] or a later key is {prefix}slot:<domain>, whose value state.py describes.
local FORMAT = '<ddi4I4I4HB'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Returns planned, last, lag, holder, held, factor, streak; and whether there was a state.
local function read_state(key)
  local state = redis.call('GET', key)
  if not state then return 0, 0, 0, 0, 0, 100, 0, false end
  local planned, last, lag, holder, held, factor, streak = struct.unpack(FORMAT, state)
  return planned, last, lag, holder, held, factor, streak, true
end

