-- report: adjust the backoff factors of domains: errors raise them, successes lower them.
--
-- keys: epoch failing slots...
-- args: results errors_to_slow max_factor prefix_bytes ring
--
-- KEYS[1]    {prefix}slots:epoch     string   ring version and restart time of the node, see prelude.lua
-- KEYS[2]    {prefix}slots:failing   zset     domain -> time of its last error (us), of the 1,000 latest
-- KEYS[3..]  {prefix}slot:<domain>   string   the state, see slots.py; one key per result
-- ARGV[1]  the results, one byte each: 1 = success, 0 = error
-- ARGV[2]  how many consecutive errors start the backoff   ARGV[3]  the largest factor, in percent
-- ARGV[4]  length of the prefix of the keys from the third on
-- ARGV[5]  the version of the caller's ring
--
-- Returns the error OTHERRING if the node has another ring. Otherwise <d now (us), then <H per result: the
-- backoff factor in percent, or 0 for a domain without recent errors.
-- Factors are between 100 and the largest one, and expire an hour after the last report.
local MAX_FAILING = 1000
local MINUTE, HOUR = 60000000, 3600000000
if struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH) ~= tonumber(ARGV[5]) then
  return redis.error_reply(OTHER_RING)
end
local errors_to_slow, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local answers, failed = {struct.pack('<d', now)}, false
for n = 3, #KEYS do
  local state = read_state(KEYS[n])
  local well = string.byte(ARGV[1], n - 2) == 1
  if well then
    state.factor, state.errors_in_a_row = math.max(100, math.floor(state.factor * 3 / 4)), 0
  else
    state.errors_in_a_row = math.min(255, state.errors_in_a_row + 1)
    if state.errors_in_a_row >= errors_to_slow then state.factor = math.min(most, state.factor * 2) end
  end
  if state.known or failing(state) then write_state(KEYS[n], state, MINUTE) end
  local domain = string.sub(KEYS[n], ARGV[4] + 1)
  if not well then
    failed = true
    redis.call('ZADD', KEYS[2], now, domain)
  elseif not failing(state) then
    redis.call('ZREM', KEYS[2], domain)
  end
  answers[#answers + 1] = struct.pack('<H', failing(state) and state.factor or 0)
end
if failed then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - HOUR)
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -MAX_FAILING - 1)
  redis.call('PEXPIRE', KEYS[2], HOUR / 1000)
end
return table.concat(answers)
