-- claim: claim the most urgent due jobs, within the queue's rate.
--
-- ARGV[1]  the most jobs to claim, 1 to 200
-- ARGV[2]  the claims expire after this time (ms) unless they are extended
-- ARGV[3]  the worker's name, without '|'
-- ARGV[4]  this shard's share of the queue's rate, above 0 to 1
-- ARGV[5]  the least urgent priority to claim, 0 to 9; less urgent jobs count as if they were not there
--
-- Returns the time (ms), when to claim again (ms; -1: no job is known to become due), and 1 if due
-- jobs remain. Then four values follow for each claimed job: its id, token, attempt (from 1) and
-- record. Afterwards each of these jobs is RUNNING under its token until the claim expires.

even_when_full()
local limit, timeout_ms, worker = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local lowest = tonumber(ARGV[5])
local config = redis.call('HMGET', CONFIG, 'paused', 'rate', 'burst', 'tokens', 'filled_at')
if tonumber(config[1] or 0) ~= 0 then return {NOW, -1, 0} end

local rate, tokens = config[2] and tonumber(config[2]) * tonumber(ARGV[4]), 0
if rate then
  local burst = math.max(1, config[3] and tonumber(config[3]) * tonumber(ARGV[4]) or rate / 4)
  -- A clock that is set back neither adds nor removes tokens.
  local passed_ms = math.max(0, NOW - tonumber(config[5] or 0))
  tokens = math.min(burst, tonumber(config[4] or burst) + passed_ms * rate / 1000)
  limit = math.min(limit, math.floor(tokens))
end

local answer, taken = {NOW, -1, 0}, 0
-- Count the claimed jobs, add up their lateness (ms), and count the jobs later than each bound.
local late_ms, late_bounds, late_counts = 0, {1000, 10000, 60000}, {0, 0, 0}
-- Breaking up a wide job takes about 1 ms. If more wide jobs are due, the next claim continues.
local break_ups = 10

local function note_lateness(due_ms)
  local late = math.max(0, NOW - due_ms)
  late_ms = late_ms + late
  for i, bound in ipairs(late_bounds) do
    if late > bound then late_counts[i] = late_counts[i] + 1 end
  end
end

local function take(set, ids, due, records)
  if taken == 0 then last_before_start() end
  local before = redis.call('HMGET', CLAIMS, unpack(ids))
  local token = redis.call('INCRBY', SEQ, #ids) - #ids
  local deadlines, claims = {}, {}
  for i, id in ipairs(ids) do
    if records[i] then
      local attempt, problem = 1, ''
      if before[i] then
        attempt, problem = before[i]:match('^%d+|(%d+)|%d+|[^|]*|(.*)$')
        attempt = tonumber(attempt) + 1
      end
      deadlines[#deadlines + 1], deadlines[#deadlines + 2] = NOW + timeout_ms, id
      claims[#claims + 1], claims[#claims + 2] = id,
        table.concat({text(token + i), text(attempt), text(NOW), worker, problem}, '|')
      note_lateness(due[i])
      answer[#answer + 1], answer[#answer + 2] = id, text(token + i)
      answer[#answer + 1], answer[#answer + 2] = attempt, records[i]
      taken = taken + 1
    end
  end
  redis.call('ZREM', set, unpack(ids))
  if #claims > 0 then
    redis.call('ZADD', RUNNING, unpack(deadlines))
    redis.call('HSET', CLAIMS, unpack(claims))
  end
end

-- Claim from one priority, and break up its wide jobs. Return true if there may be more to claim.
local function visit(set)
  local scored = redis.call(
    'ZRANGEBYSCORE', set, '-inf', NOW, 'WITHSCORES', 'LIMIT', 0, limit - taken)
  if #scored == 0 then return false end
  local ids, due = {}, {}
  for i = 1, #scored, 2 do
    ids[#ids + 1], due[#due + 1] = scored[i], tonumber(scored[i + 1])
  end
  local records = redis.call('HMGET', BODIES, unpack(ids))
  local ready, their_due, their_records, broken_up = {}, {}, {}, false
  for i, id in ipairs(ids) do
    local wide = records[i] and wide_job(records[i])
    if not wide then
      local n = #ready + 1
      ready[n], their_due[n], their_records[n] = id, due[i], records[i]
    elseif break_ups > 0 then
      break_up(id, wide)
      break_ups, broken_up = break_ups - 1, true
    end
  end
  if #ready > 0 then take(set, ready, their_due, their_records) end
  return broken_up
end

for priority = 0, lowest do
  while taken < limit and visit(pending(priority)) do end
end
count('claimed', taken)
count('late_ms', late_ms)
for i, bound in ipairs(late_bounds) do count('later_than_' .. text(bound) .. '_ms', late_counts[i]) end

local next_due = -1
for priority = 0, lowest do
  local first = redis.call('ZRANGE', pending(priority), 0, 0, 'WITHSCORES')
  local due = first[2] and tonumber(first[2])
  if due and (next_due < 0 or due < next_due) then next_due = due end
end
local more = next_due >= 0 and next_due <= NOW
if rate then
  tokens = tokens - taken
  redis.call('HSET', CONFIG, 'tokens', string.format('%.6f', tokens), 'filled_at', text(NOW))
  if more and tokens < 1 then
    count('limited', 1)
    more, next_due = false, NOW + math.ceil((1 - tokens) * 1000 / rate)
  end
end
if more then wake() end
answer[2], answer[3] = next_due, more and 1 or 0
return answer
