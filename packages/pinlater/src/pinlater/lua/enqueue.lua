-- enqueue: store jobs that become due after their delay, by this server's clock.
--
-- ARGV[1]  1: accept the jobs although the server's memory is full
-- ARGV[2..]  seven values for each job: priority, delay (ms), attempts allowed (0: the queue's), unique key
--            or '', name, key, body. Names and keys are escaped: they contain no '|'.
--
-- Returns the time (ms), then two values for each job: its id, and 1 if its unique key was in use,
-- else 0. Afterwards each new job is PENDING. If a unique key was in use, nothing was stored; the
-- id is that of the job with the key.

if ARGV[1] == '1' then even_when_full() end
local answer, soon, existing = {NOW}, false, 0
for at = 2, #ARGV, 7 do
  local unique = ARGV[at + 3]
  local id = unique ~= '' and redis.call('HGET', UNIQUE, unique)
  if id then
    existing = existing + 1
    answer[#answer + 1], answer[#answer + 2] = id, 1
  else
    id = string.format('%016x', redis.call('INCR', SEQ))
    local delay_ms = tonumber(ARGV[at + 1])
    local due = NOW + delay_ms
    redis.call('HSET', BODIES, id, table.concat({
      '1', ARGV[at], ARGV[at + 2], text(NOW), text(due), unique, ARGV[at + 4], ARGV[at + 5],
      ARGV[at + 6]}, '|'))
    redis.call('ZADD', pending(ARGV[at]), due, id)
    if unique ~= '' then redis.call('HSET', UNIQUE, unique, id) end
    soon = soon or delay_ms <= SOON_MS
    answer[#answer + 1], answer[#answer + 2] = id, 0
  end
end
if soon then wake() end
count('enqueued', (#ARGV - 1) / 7 - existing)
count('existing', existing)
return answer
