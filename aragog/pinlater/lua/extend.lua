-- extend: postpone the deadlines of claims that the caller still owns.
--
-- ARGV[1]  claim timeout (ms); then two a job: id, token
-- Returns now_ms, then for each 1, or 0 when the claim is no longer the caller's.

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
