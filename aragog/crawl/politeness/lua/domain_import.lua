-- domain_import: take over domains from their previous nodes, once per ring.
--
-- keys: epoch arrived failing pairs...
-- args: ring domains...
--
-- KEYS[1]    {prefix}slots:epoch          string   ring version and restart time of the node, see prelude.lua
-- KEYS[2]    {prefix}slots:arrived        set      domains that were taken over under this ring
-- KEYS[3]    {prefix}slots:failing        zset     domain -> time of its last error (us)
-- KEYS[4..]  {prefix}slot:<domain>        string   the state, see slots.py
--            {prefix}concurrent:<domain>  zset     token of each request in progress -> when it counts as
--                                                  ended (us); both keys per domain
-- ARGV[1]    the version of the caller's ring
-- ARGV[2..]  for each domain: its name; 1 if this node was one of its nodes before, so that its own state
--            counts; for how long it is closed (us) because a lost node may have granted a permit; the
--            number of exports that follow, and the exports (domain_export.lua)
--
-- Returns the error OTHERRING if the node has another ring, else <d now (us).
-- Times from other nodes are converted by their distance from those nodes' clocks, so here they are later
-- by the time that the transfer took, but never earlier. Afterward, the domain has the latest send, pause
-- and permit, and the largest backoff of all its nodes. Domains that have already arrived are not changed.
if struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH) ~= tonumber(ARGV[1]) then
  return redis.error_reply(OTHER_RING)
end
local HOUR_MS = 3600000

local function decode(packed, ahead)
  local planned, last, lag, holder, held, factor, errors_in_a_row, urgent_gap, means, spread, latency_steps =
    struct.unpack(FORMAT, packed)
  return {planned = planned + ahead, last = last + ahead, lag = lag, holder = holder, held = held,
          factor = factor, errors_in_a_row = errors_in_a_row, urgent_gap = urgent_gap, means = means, spread = spread,
          latency_steps = latency_steps}
end

local function merge(one, other)
  if not one then return other end
  if other.last + other.held > one.last + one.held then one, other = other, one end
  if one.planned < other.planned then one.planned, one.urgent_gap = other.planned, other.urgent_gap end
  one.last = math.max(one.last, other.last)
  one.factor, one.errors_in_a_row = math.max(one.factor, other.factor), math.max(one.errors_in_a_row, other.errors_in_a_row)
  if one.means % 16 < other.means % 16 then one.means, one.spread = other.means, other.spread end
  one.latency_steps = math.max(one.latency_steps, other.latency_steps)
  return one
end

local function own_state(slot, counts)
  local packed = redis.call('GET', slot) or ''
  if counts and #packed >= BYTES then
    return decode(string.sub(packed, 1, BYTES), 0), math.max(redis.call('PTTL', slot), 1)
  end
  return nil, 1
end

local function take(name, slot, running, counts, closed, exports)
  local state, life = own_state(slot, counts)
  if not counts then redis.call('DEL', slot, running) end
  local last = 0
  for _, export in ipairs(exports) do
    local then_, packed, other_life, requests, restart = unpack(cmsgpack.unpack(export))
    local ahead = now - then_
    if #packed > 0 then
      state, life = merge(state, decode(packed, ahead)), math.max(life, other_life)
    end
    if restart > 0 then last, life = math.max(last, restart + ahead), math.max(life, HOUR_MS) end
    for n = 1, #requests, 2 do
      redis.call('ZADD', running, tonumber(requests[n + 1]) + ahead, requests[n])
    end
    if #requests > 0 then redis.call('PEXPIRE', running, HOUR_MS) end
  end
  if closed > 0 then last, life = math.max(last, now + closed), math.max(life, HOUR_MS) end
  if not state and last == 0 then return end
  state = state or decode(struct.pack(FORMAT, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0), 0)
  if last > state.last then state.last, state.lag = last, 0 end
  redis.call('SET', slot, struct.pack(FORMAT, math.max(state.planned, state.last), state.last,
    state.lag, state.holder, state.held, state.factor, state.errors_in_a_row, state.urgent_gap, state.means,
    state.spread, state.latency_steps), 'PX', math.ceil(life + math.max(0, state.last - now) / 1000))
  if failing(state) then redis.call('ZADD', KEYS[3], now, name) end
end

local at = 2
for n = 4, #KEYS, 2 do
  local name, counts, closed, count = ARGV[at], ARGV[at + 1] == '1', tonumber(ARGV[at + 2]),
    tonumber(ARGV[at + 3])
  local exports = {}
  for each = 1, count do exports[each] = ARGV[at + 3 + each] end
  at = at + 4 + count
  if redis.call('SADD', KEYS[2], name) == 1 then
    take(name, KEYS[n], KEYS[n + 1], counts, closed, exports)
  end
end
return struct.pack('<d', now)
