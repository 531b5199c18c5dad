-- prelude: code prepended to the limiter's scripts: the time, and reading and writing a domain's state.
--
-- KEYS[1] or a later key is {prefix}slot:<domain>, whose value slots.py describes.
local FORMAT, BYTES = '<ddi4I4I4HBI4I4I4B', 44
local MAX_URGENT_GAP = 4294967295
-- Latency alone does not make an interval longer than this: a domain that is requested so rarely is not
-- slow because of us.
local MAX_FOR_LATENCY = 10000000
-- How many responses are needed before latency may slow a domain down.
local LEARNED = 8
-- One step of the latency factor. 255 steps are a factor of 100.
local LATENCY_STEP = math.log(100) / 255
-- Latencies are ln(ms / 50), from 0 to 8, in 16, 12 and 8 bits.
local FINE, MIDDLE, ROUGH = 8192, 512, 32
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- The value of {prefix}slots:epoch: the node's ring version (0 if unknown), and the time (us) that counts
-- as the last send of every domain. NO_EPOCH stands for a node that never had one.
local EPOCH, NO_EPOCH = '<dd', '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
local OTHER_RING = 'OTHERRING the node has another ring than the caller'

-- Return a domain's state as a table. `known` is false for a domain without a state. `moved` is true
-- if another node has taken over the state, whose value is then longer (domain_export.lua).
local function read_state(key)
  local packed = redis.call('GET', key)
  if not packed or #packed ~= BYTES then
    return {planned = 0, last = 0, lag = 0, holder = 0, held = 0, factor = 100, errors_in_a_row = 0,
            urgent = 0, means = 0, spread = 0, latency_steps = 0, known = false, moved = packed and #packed > BYTES}
  end
  local planned, last, lag, holder, held, factor, errors_in_a_row, urgent_gap, means, spread, latency_steps =
    struct.unpack(FORMAT, packed)
  return {planned = planned, last = last, lag = lag, holder = holder, held = held,
          factor = factor, errors_in_a_row = errors_in_a_row, urgent = planned - urgent_gap, means = means,
          spread = spread, latency_steps = latency_steps, known = true}
end

-- Return the interval lengthened by errors or latency, whichever makes it longer.
local function step_of(state, interval)
  local step = interval * state.factor / 100
  if state.latency_steps > 0 then
    local latency_steps = interval * math.exp(state.latency_steps * LATENCY_STEP)
    step = math.max(step, math.min(latency_steps, math.max(interval, MAX_FOR_LATENCY)))
  end
  return step
end

-- Return true if the domain had errors recently.
local function failing(state)
  return state.factor > 100 or state.errors_in_a_row > 0
end

-- Write the state. It expires one second after the next slot; ten minutes after it if the domain's usual
-- latency is known; and an hour after the last error. A state that would already have expired is only
-- written to replace another one.
local function write_state(key, state, step)
  local keep = math.max(state.planned, state.last + state.held) + step + 1000000 - now
  if failing(state) then keep = math.max(keep, 3600000000) end
  if state.means % 16 >= LEARNED then keep = math.max(keep, 600000000) end
  if keep <= 0 and not state.known then return end
  local urgent_gap = math.max(0, math.min(state.planned - state.urgent, MAX_URGENT_GAP))
  redis.call('SET', key, struct.pack(FORMAT, state.planned, state.last, state.lag, state.holder,
    state.held, state.factor, state.errors_in_a_row, math.floor(urgent_gap), state.means, state.spread,
    state.latency_steps), 'PX', math.ceil(math.max(keep, 1000000) / 1000))
end

