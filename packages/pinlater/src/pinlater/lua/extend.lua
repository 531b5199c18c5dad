-- extend: postpone the deadlines of the claims that the caller still owns.
--
-- ARGV[1]  the claims expire after this time (ms)
-- ARGV[2..]  two values for each job: its id and the token of the claim
--
-- Returns the time (ms), then a number for each job: 1, or 0 when the claim is no longer the caller's.

even_when_full()
local answer, deadline = {NOW}, NOW + tonumber(ARGV[1])
for at = 2, #ARGV, 2 do
  -- Not `held`, which counts stale tokens: an earlier ack is not an error.
  local claim = claim_of(ARGV[at])
  if claim and claim.token ~= ARGV[at + 1] then claim = nil end
  if claim then redis.call('ZADD', RUNNING, 'XX', deadline, ARGV[at]) end
  answer[#answer + 1] = claim and 1 or 0
end
return answer
