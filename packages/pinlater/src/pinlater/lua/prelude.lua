-- prelude: code that is prepended to every script of a shard.
--
-- Every script receives the keys of one queue in this order:
--
-- KEYS[1]   seq      int    the last number given to a job or to a claim; both use this counter
-- KEYS[2]   running  zset   job id -> deadline of its claim (ms)
-- KEYS[3]   bodies   hash   job id -> record: version|priority|attempts allowed|created|due|unique|name|
--                           key|body. In version 2 the body is in parts, which the comment above PART
--                           describes.
-- KEYS[4]   claims   hash   job id -> token|attempts|claimed at|worker|error. The token of a job that
--                           nobody has claimed is 0.
-- KEYS[5]   ok       zset   SUCCEEDED jobs: job id -> when it ended (ms)
-- KEYS[6]   bad      zset   FAILED jobs: job id -> when it ended (ms)
-- KEYS[7]   ended    hash   job id -> the header of its record, then attempts|claimed at|ended at|
--                           worker|error
-- KEYS[8]   unique   hash   unique key -> the job that has it while it waits or runs; also span of time
--                           -> the job that collects its items
-- KEYS[9]   config   hash   setting -> value; also the state of the token bucket, and the run id of the
--                           server with the last token that was given out before its start
-- KEYS[10]  stats    hash   counter -> value
-- KEYS[11]  wake     list   at most one token, which wakes one of the workers that wait for it
-- KEYS[12]  priority 0, the most urgent, to KEYS[21], priority 9:
--                    zset   PENDING jobs: job id -> when it is due (ms)

local SEQ, RUNNING, BODIES, CLAIMS, OK, BAD = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local ENDED, UNIQUE, CONFIG, STATS, WAKE = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local PRIORITIES = 10
local SOON_MS = 1000

local clock = redis.call('TIME')
local NOW = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- On a server with full memory, a script fails at its first command that may need memory, unless it
-- has already written. Scripts that eventually free memory must still run, so they start with a
-- write that changes nothing. Only `retry`, and `enqueue` of ordinary jobs, wait for free memory.
local function even_when_full()
  redis.call('HDEL', CLAIMS, '')
end

local function pending(priority)
  return KEYS[12 + tonumber(priority)]
end

local function text(number)
  return string.format('%.0f', number)
end

local function count(counter, by)
  if by > 0 then redis.call('HINCRBY', STATS, counter, by) end
end

local function setting(name, default)
  return tonumber(redis.call('HGET', CONFIG, name) or default)
end

local function wake()
  if redis.call('LLEN', WAKE) == 0 then redis.call('LPUSH', WAKE, '1') end
end

-- Return the fields of a record that scripts use. A record that this version cannot read counts as all
-- body and allows no second attempt: its job becomes FAILED, where a person or a newer version can find it.
local function header(record)
  local priority, allowed, created, unique, name, body_at =
    record:match('^[12]|(%d)|(%d+)|(%d+)|%d+|([^|]*)|([^|]*)|[^|]*|()')
  if not priority then
    return {priority = '9', allowed = 1, created = NOW, unique = '', name = '', body_at = 1}
  end
  return {priority = priority, allowed = tonumber(allowed), created = tonumber(created),
    unique = unique, name = name, body_at = body_at}
end

-- Return a setting of the retry policy: that of the job's type, `max_attempts@thumbnail`, or the queue's.
local function policy(head, name, default)
  local values = redis.call('HMGET', CONFIG, name .. '@' .. head.name, name)
  return tonumber(values[1] or values[2] or default)
end

local function claim_of(id)
  local entry = redis.call('HGET', CLAIMS, id)
  if not entry then return nil end
  local token, attempts, since, worker, problem =
    entry:match('^(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
  return {token = token, attempts = tonumber(attempts), since = since, worker = worker,
          problem = problem}
end

-- Return the claim if `token` is the current one; otherwise count the stale use and return nil.
local function held(id, token)
  local claim = claim_of(id)
  if claim and token ~= '0' and claim.token == token then return claim end
  count('stale', 1)
  return nil
end

local function unlock(id, unique)
  if unique ~= '' and redis.call('HGET', UNIQUE, unique) == id then
    redis.call('HDEL', UNIQUE, unique)
  end
end

-- Return the last token that was given out before the server's start. Writes of a worker with such a
-- claim may have been lost with the tail of the append-only file. The counter jumps ahead, so that no
-- lost id or token is used again. INFO costs as much as an empty claim, so it runs once per batch.
local LEAP = 1000000
local function last_before_start()
  local run = redis.call('INFO', 'server'):match('run_id:(%x+)')
  local known = redis.call('HMGET', CONFIG, 'run', 'run_token')
  if known[1] == run then return tonumber(known[2]) end
  local last = known[1] and redis.call('INCRBY', SEQ, LEAP) or 0
  redis.call('HSET', CONFIG, 'run', run, 'run_token', text(last))
  return last
end

-- Move a RUNNING job to `set` (OK or BAD). Only a job that can be retried manually keeps its body.
local function finish(id, set, record, head, claim, problem)
  redis.call('ZREM', RUNNING, id)
  redis.call('HDEL', CLAIMS, id)
  redis.call('ZADD', set, NOW, id)
  redis.call('HSET', ENDED, id, record:sub(1, head.body_at - 1) .. text(claim.attempts) .. '|' ..
    claim.since .. '|' .. text(NOW) .. '|' .. claim.worker .. '|' .. problem)
  if set == OK then redis.call('HDEL', BODIES, id) end
  unlock(id, head.unique)
end

-- End a claim: the job is PENDING again after `delay_ms`, or FAILED when no attempt is left or it would be
-- too old by then. If the attempt does not count, `attempts` is less than the claim's, and the age limit does
-- not apply. Return the new state.
local function again(id, claim, delay_ms, attempts, problem)
  local record = redis.call('HGET', BODIES, id)
  local head = record and header(record)
  if not head then
    redis.call('ZREM', RUNNING, id)
    redis.call('HDEL', CLAIMS, id)
    redis.call('HDEL', BODIES, id)
    return 'GONE'
  end
  local allowed = head.allowed
  if allowed == 0 then allowed = policy(head, 'max_attempts', 10) end
  local max_ms = attempts >= claim.attempts and policy(head, 'max_age_ms', 0) or 0
  local is_old = max_ms > 0 and NOW + delay_ms - head.created > max_ms
  if attempts >= allowed or is_old then
    finish(id, BAD, record, head, claim, problem)
    count('failed', 1)
    return 'FAILED'
  end
  redis.call('ZREM', RUNNING, id)
  redis.call('HSET', CLAIMS, id, '0|' .. text(attempts) .. '|0||' .. problem)
  redis.call('ZADD', pending(head.priority), NOW + delay_ms, id)
  if delay_ms <= SOON_MS then wake() end
  return 'PENDING'
end

-- Delete the oldest finished jobs of a set: those that ended before `before`, or beyond `most`.
local function forget(set, before, most, limit)
  local ids = redis.call('ZRANGEBYSCORE', set, '-inf', '(' .. text(before), 'LIMIT', 0, limit)
  local over = redis.call('ZCARD', set) - most
  if over > #ids then ids = redis.call('ZRANGE', set, 0, math.min(over, limit) - 1) end
  if #ids == 0 then return 0 end
  redis.call('ZREM', set, unpack(ids))
  redis.call('HDEL', ENDED, unpack(ids))
  if set == BAD then redis.call('HDEL', BODIES, unpack(ids)) end
  return #ids
end

-- The record of a job that collects items has version 2 and, as its body, parts separated by byte 30:
-- items|width (ms)|span (ms)|most items|group|prefix|suffix, then for each item its due time (ms),
-- byte 31, and its data. Items that are due far ahead are rare in any single span. They are therefore
-- collected in wider jobs, as in a hierarchical timing wheel; `claim` breaks these up shortly before
-- the first of their items is due. A wide job is never claimed.
local PART, DUE_END = '\30', '\31'
local WIDE_ITEMS = 100
local WIDER = 8
local FAR = 16
local SPANS_AHEAD = 2

-- Return the header, the number of items and the remaining body of a job that accepts more items, or nil.
local function open_job(id, most)
  if not id or redis.call('HEXISTS', CLAIMS, id) == 1 then return nil end
  local record = redis.call('HGET', BODIES, id)
  if not record then return nil end
  local body_at = header(record).body_at
  local items, rest = record:match('^(%d+)(\30.*)$', body_at)
  if not items or tonumber(items) >= most then return nil end
  return record:sub(1, body_at - 1), tonumber(items), rest
end

-- Add items of one group and bucket to its open job, and to new ones. Return how many jobs are new.
local function fill(frame, bucket)
  local wide = bucket.width > frame.span_ms
  local most = wide and WIDE_ITEMS or frame.most
  local id = redis.call('HGET', UNIQUE, bucket.unique)
  local head, items, rest = open_job(id, most)
  local at, created = 1, 0
  while at <= #bucket do
    local due = bucket[at].due
    if not head then
      id, items = string.format('%016x', redis.call('INCR', SEQ)), 0
      head = table.concat({'2', frame.priority, frame.allowed, text(NOW), text(due),
        bucket.unique, frame.name, frame.key, ''}, '|')
      rest = table.concat({'', text(bucket.width), text(frame.span_ms), text(frame.most),
        frame.group, frame.prefix, frame.suffix}, PART)
      redis.call('HSET', UNIQUE, bucket.unique, id)
      created = created + 1
    end
    local added = {}
    while at <= #bucket and items < most do
      local item = bucket[at]
      added[#added + 1] = PART .. text(item.due) .. DUE_END .. item.data
      due, items, at = math.min(due, item.due), items + 1, at + 1
    end
    redis.call('HSET', BODIES, id, head .. text(items) .. rest .. table.concat(added))
    if wide then due = bucket.start - SPANS_AHEAD * frame.span_ms end
    redis.call('ZADD', pending(frame.priority), 'LT', due, id)
    head = nil
  end
  return created
end

-- Put items ({due, data} each) into jobs that wait. Return how many jobs are new.
local function collect(frame, items)
  local buckets, order, created = {}, {}, 0
  for _, item in ipairs(items) do
    local width = frame.span_ms
    while item.due - NOW >= FAR * width do width = width * WIDER end
    local number = math.floor(item.due / width)
    local unique = PART .. table.concat({frame.priority, frame.group, text(width), text(number)}, ':')
    local bucket = buckets[unique]
    if not bucket then
      bucket = {unique = unique, width = width, start = number * width}
      buckets[unique], order[#order + 1] = bucket, bucket
    end
    bucket[#bucket + 1] = item
  end
  for _, bucket in ipairs(order) do created = created + fill(frame, bucket) end
  return created
end

-- Return the parts of a job whose items are spread over more than one span; nil for any other job.
local function wide_job(record)
  local priority, allowed, unique, name, key, body_at =
    record:match('^2|(%d)|(%d+)|%d+|%d+|([^|]*)|([^|]*)|([^|]*)|()')
  if not priority then return nil end
  local width, span_ms, most, group, prefix, suffix, items_at = record:match(
    '^%d+\30(%d+)\30(%d+)\30(%d+)\30([^\30]*)\30([^\30]*)\30([^\30]*)()', body_at)
  if not width or tonumber(width) <= tonumber(span_ms) then return nil end
  return {priority = priority, allowed = allowed, name = name, key = key, group = group,
    span_ms = tonumber(span_ms), most = tonumber(most), prefix = prefix, suffix = suffix,
    unique = unique, items = record:sub(items_at)}
end

local function break_up(id, wide)
  local items = {}
  for due, data in wide.items:gmatch('\30(%d+)\31([^\30]*)') do
    items[#items + 1] = {due = tonumber(due), data = data}
  end
  redis.call('ZREM', pending(wide.priority), id)
  redis.call('HDEL', BODIES, id)
  unlock(id, wide.unique)
  count('divided', 1)
  count('enqueued', collect(wide, items))
end
