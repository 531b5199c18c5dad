-- ack: finish jobs that the caller still holds, as SUCCEEDED.
--
-- ARGV, two a job: id, token
-- Returns for each 1, or 0 when the claim is no longer the caller's (nothing changed).

even_when_full()
local answer, done = {}, 0
for at = 1, #ARGV, 2 do
  local id, claim = ARGV[at], held(ARGV[at], ARGV[at + 1])
  local record = claim and redis.call('HGET', BODIES, id)
  local head = record and header(record)
  if head then
    finish(id, OK, record, head, claim, '')
    done = done + 1
  end
  answer[#answer + 1] = head and 1 or 0
end
count('succeeded', done)
-- Twice as many as came in at most, so a burst of acks stays short whatever there is to forget.
count('swept', forget(OK, NOW - setting('keep_succeeded_ms', 86400000),
  setting('keep_succeeded_max', 100000), done * 2 + 1))
return answer
