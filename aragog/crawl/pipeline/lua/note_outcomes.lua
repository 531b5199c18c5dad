-- note_outcomes: add outcomes of domains, and maintain the list of domains that refuse us.
--
-- keys: refusing domains...
-- args: kept kept_s refusals refusing_kept_s max_refusing prefix_bytes refusal_codes unanswered_codes codes...
--
-- KEYS[1]    {prefix}refusing           zset    domain that refuses us -> time of its last refusal (ms)
-- KEYS[2..]  {prefix}outcomes:<domain>  string  <d: time of the last outcome (ms), <d: first refusal,
--                                               <d: last refusal, <I: consecutive refusals, then one byte
--                                               for each of the last outcomes
-- ARGV[1]  how many outcomes to keep   ARGV[2]  how long to keep them (s)
-- ARGV[3]  how many consecutive refusals make a domain count as refusing us
-- ARGV[4]  how long to keep such a domain (s)   ARGV[5]  how many of them to keep
-- ARGV[6]  length of the prefix of the keys from the second on
-- ARGV[7]  the codes of refusals   ARGV[8]  the codes of outcomes that are not a response of the origin
-- ARGV[9..]  the new outcomes of each key, one byte each, oldest first
--
-- Returns nothing. Repeating a call adds the outcomes again.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept, enough = tonumber(ARGV[1]), tonumber(ARGV[3])
local changed = false
for n = 2, #KEYS do
  local old, codes = redis.call('GET', KEYS[n]), ARGV[n + 7]
  local since, last, count, before = 0, 0, 0, ''
  if old then
    local _
    _, since, last, count = struct.unpack('<dddI4', old)
    before = string.sub(old, 29)
  end
  local refused = count >= enough
  for at = 1, #codes do
    local code = string.sub(codes, at, at)
    if string.find(ARGV[7], code, 1, true) then
      if count == 0 then since = now end
      last, count = now, count + 1
    elseif not string.find(ARGV[8], code, 1, true) then
      since, last, count = 0, 0, 0
    end
  end
  local domain, ttl = string.sub(KEYS[n], ARGV[6] + 1), ARGV[2]
  if count >= enough then
    ttl, changed = ARGV[4], true
    redis.call('ZADD', KEYS[1], last, domain)
  elseif refused then
    redis.call('ZREM', KEYS[1], domain)
  end
  local text = string.sub(before .. codes, -kept)
  redis.call('SET', KEYS[n], struct.pack('<dddI4', now, since, last, count) .. text, 'EX', ttl)
end
if changed then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[4] * 1000)
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[5] - 1)
  redis.call('EXPIRE', KEYS[1], ARGV[4])
end
