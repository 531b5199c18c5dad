-- reserve: give each request the next free instant of its domain, an interval after the last one.
--
-- keys: restart backlog slots...
-- args: horizon_us hold_us prefix_bytes requests
--
-- KEYS[1]    {prefix}slots:restart   string   instant (us) that counts as everybody's last departure
-- KEYS[2]    {prefix}slots:backlog   zset     domain -> its last slot (us), of the 1,000 longest
--                                             backlogs over 1 s
-- KEYS[3..]  {prefix}slot:<domain>   string   packed state, see state.py; one key an ask, repeats allowed
-- ARGV[1]  horizon (us)   ARGV[2]  hold of a pre-granted permit (us)   ARGV[3]  length of the keys' prefix
-- ARGV[4]  an ask each, packed <dI4: interval (us), token (0: no pre-granted permit wanted)
--
-- Returns <d now (us), then <dB an ask: slot (us); 1 = pre-granted, 2 = refused, 4 = domain in trouble.
-- True after it: each slot is its own interval after the previous one. A slot with a pre-granted
-- permit holds the permit of the domain; a refused request has changed nothing.
-- Operators look at the first twenty; an entry for each domain would double a domain's memory.
local MOST_BUSY = 1000
local horizon, hold = tonumber(ARGV[1]), tonumber(ARGV[2])
local restart = tonumber(redis.call('GET', KEYS[1]) or 0)
local answers, at, backlog = {struct.pack('<d', now)}, 1, false
for n = 3, #KEYS do
  local interval, token
  interval, token, at = struct.unpack('<dI4', ARGV[4], at)
  local planned, last, lag, holder, held, factor, streak = read_state(KEYS[n])
  local step = interval * factor / 100
  -- A holder that has not reported may send at any moment until its permit expires.
  local open = math.max(last + held, restart) + step
  local granted = token > 0 and open <= now and planned + step <= now
  local slot = math.max(now, planned + step, holder == 0 and open or 0)
  local answer = (factor > 100 or streak > 0) and 4 or 0
  if slot - now > horizon then
    answer = answer + 2
  else
    if granted then
      answer = answer + 1
      last, lag, holder, held = now, 0, token, hold
    end
    planned = slot
    local keep = math.max(planned, last + held) + step + 1000000 - now
    if answer >= 4 then keep = math.max(keep, 3600000000) end
    redis.call('SET', KEYS[n],
      struct.pack(FORMAT, planned, last, lag, holder, held, factor, streak),
      'PX', math.ceil(keep / 1000))
    if slot - now > 1000000 then
      backlog = true
      redis.call('ZADD', KEYS[2], planned, string.sub(KEYS[n], ARGV[3] + 1))
    end
  end
  answers[#answers + 1] = struct.pack('<dB', slot, answer)
end
if backlog then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -MOST_BUSY - 1)
  redis.call('PEXPIRE', KEYS[2], math.ceil(horizon / 1000) + 60000)
end
return table.concat(answers)
