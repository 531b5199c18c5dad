-- release: end the claims of a worker that is known to be dead. The attempts count.
--
-- ARGV[1]  the start of the worker's name, without '|'
-- ARGV[2..]  the ids of the jobs that it may have claimed, 1 to 200
--
-- Returns how many jobs are PENDING again, and how many are FAILED. The claims of other workers stay.

even_when_full()
local worker, given_back, failed = ARGV[1], 0, 0
for at = 2, #ARGV do
  local id = ARGV[at]
  local claim = claim_of(id)
  if claim and claim.token ~= '0' and claim.worker:sub(1, #worker) == worker then
    local state = again(id, claim, 0, claim.attempts, 'its worker died: ' .. claim.worker)
    if state == 'PENDING' then given_back = given_back + 1 end
    if state == 'FAILED' then failed = failed + 1 end
  end
end
count('expired', given_back + failed)
return {given_back, failed}
