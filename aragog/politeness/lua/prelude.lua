-- prelude: code prepended to the limiter's scripts: the time, and reading and writing a domain's state.
--
-- KEYS[1] or a later key is {prefix}slot:<domain>, whose value slots.py describes.
local FORMAT = '<ddi4I4I4HBI4'
local MOST_BEHIND = 4294967295
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Return the state of a domain as a table; `known` is false for a domain without a state.
local function read_state(key)
  local packed = redis.call('GET', key)
  if not packed then
    return {planned = 0, last = 0, lag = 0, holder = 0, held = 0, factor = 100, streak = 0,
            urgent = 0, known = false}
  end
  local planned, last, lag, holder, held, factor, streak, behind = struct.unpack(FORMAT, packed)
  return {planned = planned, last = last, lag = lag, holder = holder, held = held,
          factor = factor, streak = streak, urgent = planned - behind, known = true}
end

-- Return whether the domain had errors recently.
local function failing(state)
  return state.factor > 100 or state.streak > 0
end

-- Write the state. It expires one second after the next slot, and an hour after the last error. What
-- is over already is not written, unless it replaces a state.
local function write_state(key, state, step)
  local keep = math.max(state.planned, state.last + state.held) + step + 1000000 - now
  if failing(state) then keep = math.max(keep, 3600000000) end
  if keep <= 0 and not state.known then return end
  local behind = math.max(0, math.min(state.planned - state.urgent, MOST_BEHIND))
  redis.call('SET', key, struct.pack(FORMAT, state.planned, state.last, state.lag, state.holder,
    state.held, state.factor, state.streak, math.floor(behind)), 'PX', math.ceil(math.max(keep, 1000000) / 1000))
end

