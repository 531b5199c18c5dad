-- report: repeated errors slow a domain down, good answers bring it back.
--
-- keys: slots...
-- args: results errors_to_slow max_factor
--
-- KEYS[1..]  {prefix}slot:<domain>   string   packed state, see state.py; one key a report
-- ARGV[1]  how it went, a byte each: 1 = well, 0 = an error
-- ARGV[2]  errors in a row before it slows   ARGV[3]  most it is slowed, in hundredths
--
-- Returns <d now (us), then <H a report: how many times slower than its rate, in hundredths; 0 when
-- nothing is remembered against the domain.
-- True after it: the factor is from 100 to ARGV[3]; it is forgotten an hour after the last answer.
local FORMAT = '<ddi4I4I4HB'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local patience, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local answers = {struct.pack('<d', now)}
for n = 1, #KEYS do
  local planned, last, lag, holder, held, factor, streak = 0, 0, 0, 0, 0, 100, 0
  local state = redis.call('GET', KEYS[n])
  if state then
    planned, last, lag, holder, held, factor, streak = struct.unpack(FORMAT, state)
  end
  local well = string.byte(ARGV[1], n) == 1
  if well then
    factor, streak = math.max(100, math.floor(factor * 3 / 4)), 0
  else
    streak = math.min(255, streak + 1)
    if streak >= patience then factor = math.min(most, factor * 2) end
  end
  local trouble = factor > 100 or streak > 0
  if state or trouble then
    local keep = math.max(planned, last + held) + 60000000 - now
    if trouble then keep = math.max(keep, 3600000000) end
    redis.call('SET', KEYS[n],
      struct.pack(FORMAT, planned, last, lag, holder, held, factor, streak),
      'PX', math.ceil(math.max(keep, 1000000) / 1000))
  end
  answers[#answers + 1] = struct.pack('<H', trouble and factor or 0)
end
return table.concat(answers)
