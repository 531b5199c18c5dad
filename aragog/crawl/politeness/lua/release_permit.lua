-- release_permit: report when requests were written, release their permits, and learn the latencies of
-- domains.
--
-- keys: slots...
-- args: departures
--
-- KEYS[1..]  {prefix}slot:<domain>   string   the state, see slots.py; one key per request
-- ARGV[1]  each request, packed <dI4dBHf: when it was written (us; 0 if nothing was), token, interval (us),
--          the largest latency factor in steps (0 turns latency off), the servers that responded since the
--          last report (one bit each; 0 for none), and the mean of ln(latency in ms / 50) of these
--          responses, from 0 to 8
--
-- Returns <d now (us), then <H for each request whose domain has moved to another node: its number from 1.
-- Nothing was changed for these.
-- The next send is then one interval after the latest reported one. A repeated or late report does not
-- change that, because the time only moves forward; a repeated latency counts twice.
--
-- Latencies are compared as logarithms, because pages differ by factors: `usual` is a slow mean, `recent`
-- a fast one, `noise` the mean difference of two consecutive responses. A growing load keeps the noise
-- small, and a mix of fast and slow pages makes it large. ADR 70 explains the numbers.
local FIRST, COUNTED = 4, 15
local FAST, DOWN, UP = 1 / 8, 1 / 16, 1 / 64
-- One response moves the fast mean by at most this difference, a factor of four.
local MAX_DIFFERENT = math.log(4)
local LONGER, CALM = math.log(1.5), math.log(1.25)
local HARDER, SOFTER = 3, 1
-- If the largest factor has not helped, the usual latency doubles in at most five minutes.
local DOUBLING, MAX_ELAPSED = 300000000, 60000000

local function rounded(value, scale, most)
  return math.max(0, math.min(most, math.floor(value * scale + 0.5)))
end

local function read_latency(state)
  local means, spread = state.means, state.spread
  return {usual = math.floor(means / 65536) / FINE, recent = math.floor(means / 16) % 4096 / MIDDLE,
          seen = means % 16, noise = math.floor(spread / 1048576) / MIDDLE,
          servers = math.floor(spread / 256) % 4096, prior = spread % 256 / ROUGH}
end

local function write_latency(state, known)
  state.means = rounded(known.usual, FINE, 65535) * 65536 + rounded(known.recent, MIDDLE, 4095) * 16
    + known.seen
  state.spread = rounded(known.noise, MIDDLE, 4095) * 1048576 + known.servers * 256
    + rounded(known.prior, ROUGH, 255)
end

-- Start with the middle of the first four responses, so that a cached first page has no lasting effect.
local function begin(known, sample)
  known.seen = known.seen + 1
  if known.seen == 1 then known.usual = sample end
  if known.seen == 2 then known.recent = sample end
  if known.seen == 3 then known.noise = sample end
  if known.seen < FIRST then return end
  local first = {known.usual, known.recent, known.noise, sample}
  known.noise = (math.abs(first[2] - first[1]) + math.abs(first[3] - first[2])
    + math.abs(first[4] - first[3])) / 3
  table.sort(first)
  known.usual, known.prior = (first[2] + first[3]) / 2, sample
  known.recent = known.usual
end

-- Learn one latency. Returns the new latency factor in steps.
local function learn(known, sample, servers, latency_steps, most, elapsed)
  if bit.band(servers, bit.bnot(known.servers)) ~= 0 then
    -- Another server has a different usual latency.
    known.servers, known.seen, latency_steps = bit.bor(known.servers, servers), 0, 0
  end
  if known.seen < FIRST then
    begin(known, sample)
    return latency_steps
  end
  known.seen = math.min(known.seen + 1, COUNTED)
  known.noise = known.noise
    + (math.abs(sample - known.prior) - known.noise) * math.max(DOWN, 1 / known.seen)
  known.prior = sample
  local apart = math.max(-MAX_DIFFERENT, math.min(MAX_DIFFERENT, sample - known.recent))
  known.recent = known.recent + apart * FAST
  local over = known.recent - known.usual
  if over < 0 then
    known.usual = known.usual + over * DOWN
  elseif latency_steps == 0 then
    known.usual = known.usual + over * UP
  elseif latency_steps >= most then
    known.usual = known.usual + math.min(over, math.log(2) * elapsed / DOUBLING)
  end
  if known.seen < LEARNED then return latency_steps end
  over = known.recent - known.usual
  local longer = math.max(LONGER, 2 * known.noise)
  if over > longer then
    local wanted = math.max(latency_steps, math.ceil(over / LATENCY_STEP))
    -- The fast mean stays high for a while after responses have become fast again.
    if sample - known.usual > longer then wanted = math.max(wanted, latency_steps + HARDER) end
    return wanted
  end
  -- A latency that became usual at the largest factor is calm enough to lower the factor.
  local calm = latency_steps >= most and CALM / 2 or math.max(CALM, longer / 2)
  if over < calm then return latency_steps - SOFTER end
  return latency_steps
end

local at, moved = 1, ''
for n = 1, #KEYS do
  local instant, token, interval, most, servers, sample
  instant, token, interval, most, servers, sample, at = struct.unpack('<dI4dBHf', ARGV[1], at)
  local state = read_state(KEYS[n])
  if state.moved then
    moved = moved .. struct.pack('<H', n)
  else
    if servers > 0 then
      local known = read_latency(state)
      -- About the time since the last response, if work is waiting.
      local elapsed = math.min(step_of(state, interval), MAX_ELAPSED)
      state.latency_steps = math.max(0, learn(known, sample, servers, state.latency_steps, most, elapsed))
      write_latency(state, known)
    end
    state.latency_steps = math.min(state.latency_steps, most)
    local step = step_of(state, interval)
    if state.holder == token then state.holder, state.held = 0, 0 end
    if instant > state.last then
      local later = math.min(instant - state.last, 60000000)
      state.last, state.lag = instant, math.min(state.lag + later, 2147483647)
      if state.planned > instant then state.planned = state.planned + math.min(later, step) end
      state.planned = math.max(state.planned, instant)
    end
    write_state(KEYS[n], state, step)
  end
end
return struct.pack('<d', now) .. moved
