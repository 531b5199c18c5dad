-- report: adjust the backoff factors of domains: errors raise them, successes lower them.
--
-- keys: failing slots...
-- args: results errors_to_slow max_factor prefix_bytes
--
-- KEYS[1]    {prefix}slots:failing   zset     domain -> its last error (us), of the 1,000 latest
-- KEYS[2..]  {prefix}slot:<domain>   string   packed state, see state.py; one key a report
-- ARGV[1]  how it went, a byte each: 1 = well, 0 = an error
-- ARGV[2]  errors in a row before it slows   ARGV[3]  most it is slowed, in hundredths
-- ARGV[4]  length of the prefix of the keys from the second on
--
-- Returns <d now (us), then <H for each report: the backoff factor in percent; 0 for a domain
-- without recent errors.
-- True after it: the factor is from 100 to ARGV[3]; it expires an hour after the last report.
local MOST_FAILING = 1000
local patience, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local answers, failed = {struct.pack('<d', now)}, false
for n = 2, #KEYS do
  local planned, last, lag, holder, held, factor, streak, known = read_state(KEYS[n])
  local well = string.byte(ARGV[1], n - 1) == 1
  if well then
    factor, streak = math.max(100, math.floor(factor * 3 / 4)), 0
  else
    streak = math.min(255, streak + 1)
    if streak >= patience then factor = math.min(most, factor * 2) end
  end
  local trouble = factor > 100 or streak > 0
  if known or trouble then
    local keep = math.max(planned, last + held) + 60000000 - now
    if trouble then keep = math.max(keep, 3600000000) end
    redis.call('SET', KEYS[n],
      struct.pack(FORMAT, planned, last, lag, holder, held, factor, streak),
      'PX', math.ceil(math.max(keep, 1000000) / 1000))
  end
  local domain = string.sub(KEYS[n], ARGV[4] + 1)
  if not well then
    failed = true
    redis.call('ZADD', KEYS[1], now, domain)
  elseif not trouble then
    redis.call('ZREM', KEYS[1], domain)
  end
  answers[#answers + 1] = struct.pack('<H', trouble and factor or 0)
end
if failed then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 3600000000)
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -MOST_FAILING - 1)
  redis.call('PEXPIRE', KEYS[1], 3600000)
end
return table.concat(answers)
