-- retry: FAILED jobs become PENDING again, due now, their attempts counted anew.
--
-- ARGV[1]  limit, 1 to 200, of the oldest; or 0: the ids that follow
-- Returns how many.

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
  if head then
    redis.call('ZREM', BAD, id)
    redis.call('HDEL', ENDED, id)
    redis.call('ZADD', pending(head.priority), NOW, id)
    -- The key may have been taken by a newer job meanwhile: that one keeps it.
    if head.unique ~= '' then redis.call('HSETNX', UNIQUE, head.unique, id) end
    done = done + 1
  end
end
if done > 0 then wake() end
return done
