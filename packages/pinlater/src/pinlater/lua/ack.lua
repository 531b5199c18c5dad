-- ack: mark the jobs SUCCEEDED whose claims the caller still owns.
--
-- ARGV has two values for each job: its id and the token of the claim.
--
-- Returns a number for each job. 1: it has SUCCEEDED. 0: the claim is no longer the caller's, and nothing
-- changed. 2: the claim is older than the server's start; the job is PENDING again, and this attempt does
-- not count.

even_when_full()
local answer, done, restarted = {}, 0, 0
local before = last_before_start()
for at = 1, #ARGV, 2 do
  local id, claim = ARGV[at], held(ARGV[at], ARGV[at + 1])
  local record = claim and redis.call('HGET', BODIES, id)
  local head = record and header(record)
  if head and tonumber(claim.token) <= before then
    again(id, claim, 0, claim.attempts - 1, 'its server restarted while it ran')
    restarted = restarted + 1
    answer[#answer + 1] = 2
  elseif head then
    finish(id, OK, record, head, claim, '')
    done = done + 1
    answer[#answer + 1] = 1
  else
    answer[#answer + 1] = 0
  end
end
count('restarted', restarted)
count('succeeded', done)
-- This deletes at most twice as many jobs as were acknowledged, so that a burst of acks stays short when
-- there are many to delete.
count('swept', forget(OK, NOW - setting('keep_succeeded_ms', 86400000),
  setting('keep_succeeded_max', 100000), done * 2 + 1))
return answer
