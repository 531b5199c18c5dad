-- nack: end the claims that the caller still owns. Their jobs run again or are FAILED.
--
-- ARGV has five values for each job: its id, the token of the claim, how the claim ends, a delay (ms) and
-- the error, which is stored as it is. A claim that ends with 'again' counts the attempt, and with 'release'
-- it does not; 'fail' makes the job FAILED at once.
--
-- Returns the new state of each job, or '' when the claim is no longer the caller's.

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
