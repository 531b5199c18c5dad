-- line_prelude: code prepended to the scripts for the lines, in which requests wait for their slots.
--
-- Further keys, in KEYS or built from arguments, are lists of entries: {prefix}line2:<priority>:<share>:<domain>.
-- "{prefix}line2:" is called the prefix of the lists. A share is the number of the crawl that the entries belong
-- to.
--
-- {prefix}lines2:shares contains the shares of each domain, separated by spaces: <share>:<band>:<tag>:<priorities>.
-- A band is a priority from 0 to 2, or 3 for all others together. The priorities are those with entries, one digit
-- each. The tag is how much more the share has used of the band than the share that has used least, where each
-- request counts by its cost: fair queuing by virtual time (Demers, Keshav and Shenker, 1989).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local LAST_BAND = 3
-- Further crawls wait in share 0, so that a domain's text stays short.
local MAX_SHARES = 200

-- Return the priority, the share and the domain in the key of a list.
local function parts_of(list, prefix_bytes)
  local priority, share, domain = string.match(list, '^(%d):(%d+):(.*)$', prefix_bytes + 1)
  return tonumber(priority), share, domain
end

local loaded, resolved = {}, {}

-- Return a domain's shares as an array. `save_shares` writes changes of them.
local function shares_of(key, domain)
  if not loaded[domain] then
    local shares = {}
    for share, band, tag, priorities in string.gmatch(redis.call('HGET', key, domain) or '', '(%d+):(%d):(%d+):(%d*)') do
      shares[#shares + 1] = {share = share, band = tonumber(band), tag = tonumber(tag), priorities = priorities}
    end
    loaded[domain] = shares
  end
  return loaded[domain]
end

local function save_shares(key, domain)
  local texts = {}
  for n, one in ipairs(loaded[domain]) do
    texts[n] = one.share .. ':' .. one.band .. ':' .. string.format('%.0f', one.tag) .. ':' .. one.priorities
  end
  if #texts > 0 then
    redis.call('HSET', key, domain, table.concat(texts, ' '))
  else
    redis.call('HDEL', key, domain)
  end
end

-- Return the list for entries of this list's priority and share, after adding them to the domain's shares.
-- A new share starts with the tag of the share whose turn is next: it has no claim to turns before it existed.
local function listed(shares_key, list, prefix_bytes)
  local known = resolved[list]
  if known then return known[1], known[2] end
  local asked = list
  local priority, share, domain = parts_of(list, prefix_bytes)
  local shares, band = shares_of(shares_key, domain), math.min(priority, LAST_BAND)
  local found, least, others = nil, nil, 0
  local function search()
    found, others = nil, 0
    for _, one in ipairs(shares) do
      if one.band == band then
        if one.share == share then found = one end
        least, others = math.min(least or one.tag, one.tag), others + 1
      end
    end
  end
  search()
  if not found and others >= MAX_SHARES then
    share = '0'
    list = string.sub(list, 1, prefix_bytes) .. priority .. ':0:' .. domain
    search()
  end
  if not found then
    found = {share = share, band = band, tag = least or 0, priorities = ''}
    shares[#shares + 1] = found
  end
  if not string.find(found.priorities, priority, 1, true) then
    local digits = {tostring(priority)}
    for digit in string.gmatch(found.priorities, '%d') do digits[#digits + 1] = digit end
    table.sort(digits)
    found.priorities = table.concat(digits)
    save_shares(shares_key, domain)
  end
  resolved[asked] = {list, domain}
  return list, domain
end

-- Put entries back at the front of their lines. `pairs_` alternates keys of lists and entries, in order.
local function put_back(pairs_, waiting, shares_key, prefix_bytes)
  for n = #pairs_ - 1, 1, -2 do
    local list, domain = listed(shares_key, pairs_[n], prefix_bytes)
    redis.call('LPUSH', list, pairs_[n + 1])
    redis.call('ZINCRBY', waiting, 1, domain)
  end
end

-- On a server with full memory, a script fails at its first command that may need memory, unless it has
-- already written something. These scripts only move existing data, so they start with a write without effect.
local function even_when_full(set)
  redis.call('ZREM', set, '')
end

