-- retry: make FAILED jobs PENDING again, due now, and count their attempts from zero.
--
-- A job whose unique key belongs to another job now stays FAILED.
--
-- ARGV[1]  how many of the oldest to retry, 1 to 200; or 0, and the ids of the jobs follow
--
-- Returns how many jobs are PENDING again.

local ids = {}
if ARGV[1] == '0' then
  for at = 2, #ARGV do ids[#ids + 1] = ARGV[at] end
else
  ids = redis.call('ZRANGE', BAD, 0, tonumber(ARGV[1]) - 1)
end
local done = 0
for _, id in ipairs(ids) do
  local record = redis.call('HGET', BODIES, id)
  local head = record and redis.call('ZSCORE', BAD, id) and header(record)
  -- A newer job that owns the unique key keeps it. Jobs that collect items may be any number.
  if head and head.unique ~= '' and record:sub(1, 1) == '1' and redis.call('HSETNX', UNIQUE, head.unique, id) == 0 then
    head = nil
  end
  if head then
    redis.call('ZREM', BAD, id)
    redis.call('HDEL', ENDED, id)
    redis.call('ZADD', pending(head.priority), NOW, id)
    done = done + 1
  end
end
if done > 0 then wake() end
return done
