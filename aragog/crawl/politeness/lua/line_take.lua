-- line_take: take requests from lines, the most urgent first, and from each crawl by its weight.
--
-- keys: waiting taken leases shares
-- args: token lease_ms prefix asks...
--
-- KEYS[1]  {prefix}lines2:waiting  zset   domain -> how many requests are in its line
-- KEYS[2]  {prefix}lines2:taken    hash   token -> entries taken and not settled, and costs by list, in MessagePack
-- KEYS[3]  {prefix}lines2:leases   zset   token -> when its entries return to their lines (ms)
-- KEYS[4]  {prefix}lines2:shares   hash   domain -> its shares, see line_prelude.lua
-- ARGV[1]  the token for `line_settle`   ARGV[2]  after how long unsettled entries return (ms)
-- ARGV[3]  the prefix of the lists, including "line2:"
-- ARGV[4..]  three values per line: its domain, how many requests to take, and " <share>=<cost>" for shares without
--            the usual weight: how much a request of priority 5 adds to the tag; 0 to take nothing from the share
--
-- Returns the key of a list and an entry per request, in the order in which they should be sent.
-- The entries are then in no line; they return to their lines unless they are settled in time. Each step of
-- priority
-- costs twice as much as the one before. Tags do not change until `line_settle` knows what was sent.
even_when_full(KEYS[1])
local USUAL_COST, USUAL_PRIORITY = 1000000, 5
local taken, costs = {}, {}

-- A share from which nothing is taken gets no claim to the turns that pass meanwhile.
local function wait_with(closed, open, domain)
  local least
  for _, queue in ipairs(open) do least = math.min(least or queue.tag, queue.tag) end
  for _, one in ipairs(closed) do
    if least and one.tag < least then
      one.tag = least
      save_shares(KEYS[4], domain)
    end
  end
end

-- The tag of a share after its next request. The share with the lowest one is next, so a share with a small weight
-- does not start with more than its part.
local function done_at(queue)
  return queue.tag + queue.parts[queue.at].cost
end

-- Decide how much to take from each list. Returns turns, as an array of indexes into `lists`, and `lists`.
local function turns_of(shares, band, domain, left, asked)
  local open, closed, turns, lists = {}, {}, {}, {}
  for _, one in ipairs(shares) do
    local cost = tonumber(string.match(asked, ' ' .. one.share .. '=(%d+)') or USUAL_COST)
    if one.band == band and cost == 0 then closed[#closed + 1] = one end
    if one.band == band and cost > 0 then
      local queue = {tag = one.tag, at = 1, parts = {}}
      for digit in string.gmatch(one.priorities, '%d') do
        local name = ARGV[3] .. digit .. ':' .. one.share .. ':' .. domain
        local count = redis.call('LLEN', name)
        if count > 0 then
          local each = math.max(1, math.floor(cost * 2 ^ (tonumber(digit) - USUAL_PRIORITY) + 0.5))
          lists[#lists + 1] = {name = name, taken = 0}
          queue.parts[#queue.parts + 1] = {list = #lists, count = count, cost = each}
          costs[name] = each
        end
      end
      if #queue.parts > 0 then open[#open + 1] = queue end
    end
  end
  wait_with(closed, open, domain)
  while left > 0 and #open > 0 do
    local turn = 1
    for n = 2, #open do
      if done_at(open[n]) < done_at(open[turn]) then turn = n end
    end
    local queue = open[turn]
    local part = queue.parts[queue.at]
    -- If no other share is open, take the rest in one turn.
    local count = #open == 1 and math.min(left, part.count) or 1
    for _ = 1, count do turns[#turns + 1] = part.list end
    lists[part.list].taken = lists[part.list].taken + count
    part.count, queue.tag, left = part.count - count, queue.tag + count * part.cost, left - count
    if part.count == 0 then
      queue.at = queue.at + 1
      if queue.at > #queue.parts then table.remove(open, turn) end
    end
  end
  return turns, lists
end

for n = 4, #ARGV, 3 do
  local domain, left, asked = ARGV[n], tonumber(ARGV[n + 1]), ARGV[n + 2]
  local before, shares = #taken, shares_of(KEYS[4], domain)
  for band = 0, LAST_BAND do
    if left <= 0 then break end
    local turns, lists = turns_of(shares, band, domain, left, asked)
    for _, list in ipairs(lists) do
      if list.taken > 0 then
        list.entries = redis.call('LRANGE', list.name, 0, list.taken - 1)
        redis.call('LTRIM', list.name, list.taken, -1)
        list.at = 0
      end
    end
    for _, number in ipairs(turns) do
      local list = lists[number]
      list.at = list.at + 1
      taken[#taken + 1], taken[#taken + 2] = list.name, list.entries[list.at]
    end
    left = left - #turns
  end
  if left > 0 and asked == '' then
    redis.call('ZADD', KEYS[1], 0, domain)
  elseif #taken > before then
    redis.call('ZINCRBY', KEYS[1], (before - #taken) / 2, domain)
  end
end
if #taken > 0 then
  redis.call('HSET', KEYS[2], ARGV[1], cmsgpack.pack({taken, costs}))
  redis.call('ZADD', KEYS[3], now + tonumber(ARGV[2]), ARGV[1])
end
return taken
