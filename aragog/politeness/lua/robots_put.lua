-- robots_put: keep what asking for a robots.txt came to.
--
-- KEYS[1]  {prefix}robots:<origin>        string   packed record, see robots_record.py
-- KEYS[2]  {prefix}robots.claim:<origin>  string   there while somebody refreshes it
-- KEYS[3]  {prefix}robots.due             zset     origin -> when its rules want a refresh (ms)
-- ARGV[1]  record   ARGV[2]  1: it tells of an error   ARGV[3]  life of the record (ms)
-- ARGV[4]  good rules fetched before this (ms) are not kept   ARGV[5]  due (ms)   ARGV[6]  origin
-- ARGV[7]  due before this (ms): forgotten
--
-- Returns 1 when older good rules stay in use in place of the error, 0 otherwise.
-- True after it: the claim is free. Repeated or late: an older answer never replaces a newer one.
local HEAD, SIZE = '<Bc8hdhdd', 37
redis.call('DEL', KEYS[2])
local used, version, status, fetched, tried_status, tried, failing =
  struct.unpack(HEAD, ARGV[1])
local body, kept = string.sub(ARGV[1], SIZE + 1), 0
local old = redis.call('GET', KEYS[1])
if old then
  local old_used, old_version, old_status, old_fetched, _, old_tried, old_failing =
    struct.unpack(HEAD, old)
  if old_tried > tried then return 0 end
  if ARGV[2] == '1' then
    if old_failing > 0 then failing = old_failing end
    local good = old_status >= 200 and old_status < 500 and old_status ~= 429
    if good and old_fetched >= tonumber(ARGV[4]) then
      used, version, status, fetched, kept = old_used, old_version, old_status, old_fetched, 1
      body = string.sub(old, SIZE + 1)
    end
  end
end
local life = kept == 1 and math.max(1, redis.call('PTTL', KEYS[1])) or ARGV[3]
local record = struct.pack(HEAD, used, version, status, fetched, tried_status, tried, failing)
redis.call('SET', KEYS[1], record .. body, 'PX', life)
redis.call('ZADD', KEYS[3], ARGV[5], ARGV[6])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ARGV[7])
return kept
