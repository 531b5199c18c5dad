-- delete: delete jobs that are not RUNNING.
--
-- ARGV[1]  the index in KEYS of the set that has them: ok, bad, or that of a priority
-- ARGV[2]  how many of the oldest to delete, 1 to 200; or 0, and the ids of the jobs follow
--
-- Returns how many jobs it deleted.

even_when_full()
local set, ids = KEYS[tonumber(ARGV[1])], {}
if ARGV[2] == '0' then
  for at = 3, #ARGV do
    if redis.call('ZSCORE', set, ARGV[at]) then ids[#ids + 1] = ARGV[at] end
  end
else
  ids = redis.call('ZRANGE', set, 0, tonumber(ARGV[2]) - 1)
end
for _, id in ipairs(ids) do
  local record = redis.call('HGET', BODIES, id)
  local head = record and header(record)
  if head then unlock(id, head.unique) end
  redis.call('ZREM', set, id)
  redis.call('HDEL', BODIES, id)
  redis.call('HDEL', CLAIMS, id)
  redis.call('HDEL', ENDED, id)
end
count('deleted', #ids)
return #ids
