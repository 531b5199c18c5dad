-- acquire_permit: decide whether a sender may send its request now.
--
-- keys: restart slot running
-- args: request
--
-- KEYS[1]  {prefix}slots:restart   string   instant (us) that counts as everybody's last departure
-- KEYS[2]  {prefix}slot:<domain>   string   packed state, see state.py
-- KEYS[3]  {prefix}concurrent:<domain>  zset     token -> when the request counts as ended (us)
-- ARGV[1]  packed <ddI4ddddd: slot (us), interval (us), token, hold (us), lead (us), window (us),
--          limit of requests in progress (0: none), time after which one counts as ended (us)
--
-- Returns <dBd: now (us); 0 = go at, 1 = ask again at, 2 = too late: reserve again; instant (us).
-- True after "go": the caller has the permit for `hold` after the instant, or until it reports.
-- A repeated request with the same token renews the permit.
local CATCH_UP, POLL_MIN, POLL_MAX = 500, 5000, 50000
local slot, interval, token, hold, lead, window, limit, life = struct.unpack('<ddI4ddddd', ARGV[1])
local planned, last, lag, holder, held, factor, streak = read_state(KEYS[2])
local function answer(verdict, instant)
  return struct.pack('<dBd', now, verdict, instant)
end
local function wait(instant)
  -- Past its window a sender loses its slot, unless the permit is free now.
  return answer(instant > slot + window and 2 or 1, instant)
end
local step = interval * factor / 100
local mine = holder == token
if holder ~= 0 and not mine then
  if now < last + held then
    local poll = now + math.min(math.max(step / 4, POLL_MIN), POLL_MAX)
    return wait(math.max(last + step, poll))
  end
  -- Killed or stuck: it may have sent at the very end of its permit.
  last, holder = last + held, 0
end
local front = last - lag
last = math.max(last, tonumber(redis.call('GET', KEYS[1]) or 0))
-- A domain behind its plan catches up by half a millisecond with each request.
local open = mine and last or last + step - math.min(CATCH_UP, math.max(0, lag))
if open > now + lead then
  -- Earlier slots go first; one more sender may wait for the permit early.
  return wait(open + math.min(math.max(slot - front - 2 * step, 0), 2 * step))
end
if limit > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
  if redis.call('ZCARD', KEYS[3]) >= limit and not redis.call('ZSCORE', KEYS[3], token) then
    return wait(now + math.max(step, POLL_MAX))
  end
  redis.call('ZADD', KEYS[3], now + life, token)
  redis.call('PEXPIRE', KEYS[3], math.ceil(life / 1000))
end
local go = math.max(open, now)
local was_late = math.max(0, lag)
lag = math.max(math.min(go - math.max(slot, front), 2147483647), -2147483648)
-- A small lag is wanted, because then a next sender is always waiting. A larger lag moves the plan,
-- one interval at a time.
local slack = math.max(was_late, math.min(2 * step, window / 4))
if planned > slot then planned = planned + math.min(math.max(lag - slack, 0), step) end
planned = math.max(planned, go)
local keep = math.max(planned, go + hold) + step + 1000000 - now
if factor > 100 or streak > 0 then keep = math.max(keep, 3600000000) end
redis.call('SET', KEYS[2], struct.pack(FORMAT, planned, go, lag, token, hold, factor, streak),
  'PX', math.ceil(keep / 1000))
return answer(0, go)
