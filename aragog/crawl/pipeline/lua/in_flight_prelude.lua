-- in_flight_prelude: code prepended to the scripts that end URLs of the in-flight set, after in_flight_entry.
--
-- Scripts build these keys from arguments: {prefix}crawl:<n>, {prefix}crawl:<n>:domains, :days, :use and :hours,
-- the
-- counts of a crawl on this server. "{prefix}crawl:" is their prefix.
-- KEYS[1] is {prefix}in_flight, see in_flight_mark.lua. Returns nothing.
-- On a server with full memory, a script fails at its first command that may need memory, unless it has already
-- written something. Ending a URL frees memory, so these scripts start with a write without effect.
redis.call('HDEL', KEYS[1], '')
local server_time = tonumber(redis.call('TIME')[1])
local MAX_DOMAINS = 50000

local function members_of(held)
  local members = {}
  for member in (held:match(':(.*)$') or ''):gmatch('%S+') do members[#members + 1] = member end
  return members
end

local NO_FAILURES = { stored = true, repeated = true, cancelled = true, superseded = true, sitemap = true }

-- Increment a field that starts with a domain. Domains beyond MAX_DOMAINS are counted together.
local function count_place(key, before, domain, outcome)
  local field = before .. domain .. ' ' .. outcome
  if redis.call('HLEN', key) >= MAX_DOMAINS and redis.call('HEXISTS', key, field) == 0 then
    field = before .. '* ' .. outcome
  end
  redis.call('HINCRBY', key, field, 1)
end

local function leave_domain(key, domain, times)
  local field = domain .. ' waiting'
  if domain == '' or redis.call('HEXISTS', key, field) == 0 then field = '* waiting' end
  if redis.call('HINCRBY', key, field, -times) == 0 then redis.call('HDEL', key, field) end
end

-- Count that a URL has left the set of a crawl: with an outcome, or as if it had not been enqueued ("").
-- `notes` are labels to count in addition to the outcome. `times` counts that many URLs of no domain; 1 by default.
local function count(prefix, number, outcome, domain, bytes, notes, times)
  local key = prefix .. number
  times = times or 1
  redis.call('HINCRBY', key, 'waiting', -times)
  leave_domain(key .. ':domains', domain, times)
  local today = math.floor(server_time / 86400)
  if outcome == '' then
    redis.call('HINCRBY', key, 'enqueued', -1)
    if tonumber(number) > 1 then redis.call('HINCRBY', key .. ':use', today .. ' urls', -1) end
    return
  end
  redis.call('HINCRBY', key, outcome == 'repeated' and outcome or 'is ' .. outcome, times)
  if bytes > 0 then
    redis.call('HINCRBY', key, 'bytes', bytes)
    if tonumber(number) > 1 then redis.call('HINCRBY', key .. ':use', today .. ' bytes', bytes) end
  end
  for note in (notes or ''):gmatch('%S+') do redis.call('HINCRBY', key, 'of ' .. note, 1) end
  redis.call('HINCRBY', key .. ':hours', math.floor(server_time / 3600) .. ' ' .. outcome, times)
  if domain ~= '' then
    count_place(key .. ':domains', '', domain, outcome)
    if not NO_FAILURES[outcome] then
      count_place(key .. ':days', today .. ' ', domain, outcome)
    end
  end
end

-- Write an entry with these members, keeping its expiry. Without members, the entry is removed.
local function keep(in_flight, name, held, members, counts_for_s, named_counts_for_s)
  if #members == 0 then
    redis.call('HDEL', in_flight, name)
    return
  end
  local function lasts_s(member)
    return tonumber(number_of(member)) > 1 and named_counts_for_s or counts_for_s
  end
  local before = members_of(held)[1]
  local until_s = expiry_of(held) - lasts_s(before) + lasts_s(members[1])
  redis.call('HSET', in_flight, name, entry_of(until_s, table.concat(members, ' ')))
end

