-- nack: end claims that the caller still owns; the jobs run again or are FAILED.
--
-- ARGV, five a job: id, token, how, delay_ms, error (no newline needed; kept as it is)
--   how 'again': this attempt counts; 'release': it does not; 'fail': FAILED at once
-- Returns for each its new state, or '' when the claim is no longer the caller's.

even_when_full()
local answer, retried, released = {}, 0, 0
for at = 1, #ARGV, 5 do
  local id, how, problem = ARGV[at], ARGV[at + 2], ARGV[at + 4]
  local claim, state = held(id, ARGV[at + 1]), ''
  if claim and how == 'release' then
    state = again(id, claim, tonumber(ARGV[at + 3]), claim.attempts - 1, problem)
    released = released + 1
  elseif claim then
    local attempts = claim.attempts
    if how == 'fail' then attempts = math.huge end
    state = again(id, claim, tonumber(ARGV[at + 3]), attempts, problem)
    if state == 'PENDING' then retried = retried + 1 end
  end
  answer[#answer + 1] = state
end
count('retried', retried)
count('released', released)
return answer
