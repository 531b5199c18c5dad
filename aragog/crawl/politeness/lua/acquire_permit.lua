-- acquire_permit: decide whether a sender may send its request now.
--
-- keys: epoch slot running
-- args: slot_us interval_us token hold_us lead_us window_us max_running running_ttl_us urgent ring
--
-- KEYS[1]  {prefix}slots:epoch     string   ring version and restart time of the node, see prelude.lua
-- KEYS[2]  {prefix}slot:<domain>   string   the state, see slots.py
-- KEYS[3]  {prefix}concurrent:<domain>  zset     token of each request in progress -> when it counts
--                                                as ended (us)
-- ARGV[1]   slot_us         the reserved slot
-- ARGV[2]   interval_us     the time between two requests, without backoff
-- ARGV[3]   token           identifies the sender
-- ARGV[4]   hold_us         how long the permit lasts if it is not released
-- ARGV[5]   lead_us         how far ahead the permit may be granted
-- ARGV[6]   window_us       how long after its slot a request may still be sent
-- ARGV[7]   max_running     the limit of requests in progress; 0 for none
-- ARGV[8]   running_ttl_us  the time after which a request in progress counts as ended
-- ARGV[9]   urgent          1 if the request is urgent, else 0
-- ARGV[10]  ring            the version of the caller's ring
--
-- Returns the error OTHERRING if the node has another ring and the caller would not have to wait. Otherwise
-- <dBd: now (us); 0 = send at, 1 = ask again at, 2 = too late, reserve again; that time (us).
-- After "send", the caller holds the permit until it reports, or until hold_us after that time. A repeated
-- request with the same token renews the permit. An urgent sender gets the next permit as soon as it asks,
-- so senders with earlier slots do not take it.
local CATCH_UP, POLL_MIN, POLL_MAX = 500, 5000, 50000
local URGENT_LEAD = 2000000
local slot, interval, token = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local hold, lead, window = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local max_running, running_ttl = tonumber(ARGV[7]), tonumber(ARGV[8])
local urgent, ring = ARGV[9] == '1', tonumber(ARGV[10])
local state = read_state(KEYS[2])
if urgent then lead = URGENT_LEAD end
local function answer(verdict, instant)
  return struct.pack('<dBd', now, verdict, instant)
end
local function wait(instant)
  -- After its window, a sender loses its slot, unless the permit is free now.
  return answer(instant > slot + window and 2 or 1, instant)
end
local step = step_of(state, interval)
local poll = now + math.min(math.max(step / 4, POLL_MIN), POLL_MAX)
local mine = state.holder == token
if state.holder ~= 0 and not mine then
  if now < state.last + state.held then
    -- An urgent sender asks again soon, to be the first one after the holder's report.
    return wait(urgent and poll or math.max(state.last + step, poll))
  end
  -- The holder was killed or hangs. It may have sent its request at the very end of its permit.
  state.last, state.holder = state.last + state.held, 0
end
local front = state.last - state.lag
-- Only the owner of the domain may grant a permit: another node does not know the state.
local version, restart = struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH)
if version ~= ring then return redis.error_reply(OTHER_RING) end
state.last = math.max(state.last, restart)
-- A domain behind its plan catches up by half a millisecond per request.
local open = mine and state.last
  or state.last + step - math.min(CATCH_UP, math.max(0, state.lag))
if open > now + lead then
  -- Earlier slots go first. One more sender may wait for the permit early.
  return wait(open + math.min(math.max(slot - front - 2 * step, 0), 2 * step))
end
if max_running > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
  if redis.call('ZCARD', KEYS[3]) >= max_running and not redis.call('ZSCORE', KEYS[3], token) then
    return wait(urgent and poll or now + math.max(step, POLL_MAX))
  end
  redis.call('ZADD', KEYS[3], now + running_ttl, token)
  redis.call('PEXPIRE', KEYS[3], math.ceil(running_ttl / 1000))
end
local go = math.max(open, now)
local was_late = math.max(0, state.lag)
state.lag = math.max(math.min(go - math.max(slot, front), 2147483647), -2147483648)
-- A small lag is intended, because then another sender is always waiting. A larger lag moves the plan,
-- one interval at a time.
local slack = math.max(was_late, math.min(2 * step, window / 4))
if state.planned > slot then
  state.planned = state.planned + math.min(math.max(state.lag - slack, 0), step)
end
state.planned = math.max(state.planned, go)
state.last, state.holder, state.held = go, token, hold
write_state(KEYS[2], state, step)
return answer(0, go)
