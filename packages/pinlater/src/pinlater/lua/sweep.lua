-- sweep: end expired claims, and delete finished jobs after their retention time.
--
-- ARGV[1]  end the claims whose deadline is before this time (ms) and before the server's own time
-- ARGV[2]  the most jobs of each step, 1 to 200
--
-- Returns the time (ms), how many jobs are PENDING again, how many are FAILED, and how many finished jobs
-- were deleted.

even_when_full()
local limit = tonumber(ARGV[2])
local until_ms = math.min(NOW, tonumber(ARGV[1]))
local given_back, failed = 0, 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', RUNNING, '-inf', until_ms, 'LIMIT', 0, limit)) do
  local claim = claim_of(id) or {token = '0', attempts = 1, since = '0', worker = ''}
  local state = again(id, claim, 0, claim.attempts, 'claim timed out: ' .. claim.worker)
  if state == 'PENDING' then given_back = given_back + 1 end
  if state == 'FAILED' then failed = failed + 1 end
end
count('expired', given_back + failed)
local forgotten =
  forget(OK, NOW - setting('keep_succeeded_ms', 86400000),
    setting('keep_succeeded_max', 100000), limit) +
  forget(BAD, NOW - setting('keep_failed_ms', 604800000),
    setting('keep_failed_max', 1000000), limit)
count('swept', forgotten)
return {NOW, given_back, failed, forgotten}
