-- robots_put: store the result of a request for robots.txt.
--
-- keys: record claims due domain
-- args: packed is_error ttl_ms min_fetched_at_ms due_at_ms origin claim forget_before_ms record_prefix overhead_bytes domain_max_bytes domain_ttl_ms
--
-- KEYS[1]  {prefix}robots:<origin>        string   packed record, see robots_records.py
-- KEYS[2]  {prefix}robots.claims          hash     leases of origins while a worker refreshes them
-- KEYS[3]  {prefix}robots.due             zset     origin -> when its rules must be refreshed (ms)
-- KEYS[4]  {prefix}robots.domain:<domain> zset     origin -> when its record was stored (s) and its size,
--                                                  packed into one number; '' -> bytes of all records
-- ARGV[1]  the record
-- ARGV[2]  1 if the record is that of an error
-- ARGV[3]  after how long the record expires (ms)
-- ARGV[4]  older good rules are kept unless they were fetched before this time (ms)
-- ARGV[5]  when the rules must be refreshed (ms)
-- ARGV[6]  the origin
-- ARGV[7]  the origin's field in KEYS[2]
-- ARGV[8]  origins due for a refresh before this time (ms) are removed from KEYS[3]
-- ARGV[9]  the prefix of KEYS[1]
-- ARGV[10] the overhead of a record in bytes
-- ARGV[11] how many bytes the records of a domain may take
-- ARGV[12] after how long KEYS[4] expires (ms); no record expires later
--
-- Returns 1 if older good rules stay in use instead of the error, else 0.
-- A record with the status 304 keeps the stored rules and validators, and makes them as fresh as itself.
-- Without stored rules it is dropped, so that the rules are fetched in full.
-- Afterward, the records of the domain take at most ARGV[11], unless a single one takes more; the oldest
-- ones are deleted. The claim is released. An older result never replaces a newer one.
local HEAD, SIZE = '<Bc8hdhdd', 37
redis.call('HDEL', KEYS[2], ARGV[7])
local used, version, status, fetched, tried_status, tried, failing =
  struct.unpack(HEAD, ARGV[1])
local body, kept = string.sub(ARGV[1], SIZE + 1), 0
local old = redis.call('GET', KEYS[1])
if old and #old < SIZE then old = false end
if status == 304 and not old then return 0 end
if old then
  local old_used, old_version, old_status, old_fetched, _, old_tried, old_failing =
    struct.unpack(HEAD, old)
  if old_tried > tried then return 0 end
  if status == 304 then
    if old_status < 200 or old_status >= 300 then return 0 end
    used, version, status, tried_status = old_used, old_version, old_status, old_status
    body = string.sub(old, SIZE + 1)
  end
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
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ARGV[8])

-- A score is the time when a record was stored (s) * 2^20 + its size. Both fit into 53 bits, and the oldest
-- record comes first.
local SIZES, REAL = 1048576, 1099511627776
local time = redis.call('TIME')
local total = tonumber(redis.call('ZSCORE', KEYS[4], '') or 0)
local function forget(origin, score)
  redis.call('ZREM', KEYS[4], origin)
  total = total - score % SIZES
end
local mine = redis.call('ZSCORE', KEYS[4], ARGV[6])
if mine then forget(ARGV[6], tonumber(mine)) end
local gone = (time[1] - ARGV[12] / 1000) * SIZES
local over = redis.call('ZRANGEBYSCORE', KEYS[4], REAL, gone, 'WITHSCORES', 'LIMIT', 0, 100)
for n = 1, #over, 2 do forget(over[n], tonumber(over[n + 1])) end
local size = math.min(#record + #body + tonumber(ARGV[10]), SIZES - 1)
while total > 0 and total + size > tonumber(ARGV[11]) do
  local first = redis.call('ZRANGEBYSCORE', KEYS[4], REAL, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if #first == 0 then total = 0 break end
  redis.call('DEL', ARGV[9] .. first[1])
  redis.call('ZREM', KEYS[3], first[1])
  forget(first[1], tonumber(first[2]))
end
redis.call('ZADD', KEYS[4], time[1] * SIZES + size, ARGV[6], total + size, '')
redis.call('PEXPIRE', KEYS[4], ARGV[12])
return kept
