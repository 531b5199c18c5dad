-- line_settle: finish what `line_take` started, and set when to check the lines again.
--
-- keys: due waiting taken leases shares
-- args: token prefix returned rest...
--
-- KEYS[1]  {prefix}lines2:due      zset   domain -> when its line is checked next (ms)
-- KEYS[2]  {prefix}lines2:waiting  zset   domain -> how many requests are in its line
-- KEYS[3]  {prefix}lines2:taken    hash   token -> entries taken and not settled, see line_take.lua
-- KEYS[4]  {prefix}lines2:leases   zset   token -> when its entries return to their lines (ms)
-- KEYS[5]  {prefix}lines2:shares   hash   domain -> its shares, see line_prelude.lua
-- ARGV[1]  the token of `line_take`   ARGV[2]  the prefix of the lists, including "line2:"
-- ARGV[3]  how many entries to put back into their lines
-- ARGV[4..]  the key of a list and an entry for each of these; then for each line its domain, and after how
--            long to check it again (ms)
--
-- Returns the shares of each line. If the lease had expired, all entries are already back in their lines.
-- Afterward, empty lines are gone, all other lines have a next check, and the tags of shares include what was sent.
even_when_full(KEYS[1])
local prefix_bytes = #ARGV[2]
local back, at = {}, 4
for n = 1, 2 * tonumber(ARGV[3]) do
  back[n], at = ARGV[at], at + 1
end
local record = redis.call('HGET', KEYS[3], ARGV[1])
local leased = redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
if leased == 1 then
  local sent = {}
  local taken, costs = unpack(cmsgpack.unpack(record))
  for n = 1, #taken, 2 do sent[taken[n]] = (sent[taken[n]] or 0) + 1 end
  for n = 1, #back, 2 do sent[back[n]] = (sent[back[n]] or 0) - 1 end
  for list, count in pairs(sent) do
    local priority, share, domain = parts_of(list, prefix_bytes)
    for _, one in ipairs(shares_of(KEYS[5], domain)) do
      if one.share == share and one.band == math.min(priority, LAST_BAND) then
        one.tag = one.tag + count * (costs[list] or 0)
      end
    end
  end
  put_back(back, KEYS[2], KEYS[5], prefix_bytes)
end

-- Remove shares and priorities without entries. A share that has used more than the others is kept until they have
-- had their turns: sending one URL at a time must not be better than sending many at once.
local function tidy(domain)
  local shares, least = shares_of(KEYS[5], domain), {}
  for _, one in ipairs(shares) do
    local digits = ''
    for digit in string.gmatch(one.priorities, '%d') do
      if redis.call('EXISTS', ARGV[2] .. digit .. ':' .. one.share .. ':' .. domain) == 1 then digits = digits .. digit end
    end
    one.priorities = digits
    if digits ~= '' then least[one.band] = math.min(least[one.band] or one.tag, one.tag) end
  end
  local kept = {}
  for _, one in ipairs(shares) do
    local from = least[one.band]
    if from and (one.priorities ~= '' or one.tag > from) then
      one.tag = math.max(0, one.tag - from)
      kept[#kept + 1] = one
    end
  end
  loaded[domain] = kept
  save_shares(KEYS[5], domain)
  return #kept
end

local answer = {}
for n = at, #ARGV, 2 do
  local domain = ARGV[n]
  if tidy(domain) > 0 then
    redis.call('ZADD', KEYS[1], now + tonumber(ARGV[n + 1]), domain)
  else
    redis.call('ZREM', KEYS[1], domain)
    redis.call('ZREM', KEYS[2], domain)
  end
  answer[#answer + 1] = redis.call('HGET', KEYS[5], domain) or ''
end
return answer
