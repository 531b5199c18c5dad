-- in_flight_mark: mark URLs as in flight for a crawl, or add the crawl to those that want them.
--
-- keys: in_flight counts hosts by_domain use
-- args: crawl depth unconfirmed_s patience_s counts_for_s named_counts_for_s insist_after_s max_urls max_per_host max_domains max_today max_waiting names places...
--
-- KEYS[1]  {prefix}in_flight        hash  name (16 bytes) -> when the entry expires (in_flight_entry.lua), ":", and the numbers
--                                         of the crawls that want it; the one whose job was sent comes first,
--                                         and each other one is followed by "." and the depth of its links
-- KEYS[2]  {prefix}crawl:<n>        hash  the counts of the crawl on this server
-- KEYS[3]  {prefix}crawl:<n>:hosts  hash  host -> URLs of the crawl, if it has a limit per host
-- KEYS[4]  {prefix}crawl:<n>:domains  hash  registered domain, " waiting" -> waiting URLs; "*" for further domains
-- KEYS[5]  {prefix}crawl:<n>:use  hash  day, " urls" or " bytes" -> what the crawl used that day, on this server
-- ARGV[1]  number of the crawl   ARGV[2]  the depth of its links
-- ARGV[3]  lifetime of an unconfirmed entry (s)   ARGV[4]  after how many seconds it is taken over
-- ARGV[5]  lifetime of a confirmed entry of crawls 0 and 1 (s)   ARGV[6]  of other crawls
-- ARGV[7]  entries confirmed more than this many seconds ago are taken over; -1 for none
-- ARGV[8]  maximum URLs of the crawl on this server; -1 for no limit   ARGV[9]  of one host
-- ARGV[10]  maximum fields of KEYS[4]
-- ARGV[11]  maximum URLs that the crawl may enqueue today on this server by its token's quota; -1 for no limit
-- ARGV[12]  maximum URLs that may wait for it here   ARGV[13]  names, 16 bytes each, concatenated
-- ARGV[14..]  two values per name: its registered domain, and its host if ARGV[9] is a limit
--
-- Returns one character per name. "0": another caller's message is on its way, and the crawl already wants the
-- URL. "2": the same, but the crawl was added now. "?": another caller has not confirmed it yet, so ask again.
-- "1": the caller must send it. "3": the crawl has reached its maximum of URLs. "4": of URLs of this host.
-- "6": its token has used up its quota.
-- Each URL that is marked counts once as enqueued and waiting in each crawl that wants it.

local now = tonumber(redis.call('TIME')[1])
local crawl, depth = ARGV[1], ARGV[2]
local unconfirmed_s, patience_s = tonumber(ARGV[3]), tonumber(ARGV[4])
local insist_after_s = tonumber(ARGV[7])
local max_urls, max_per_host = tonumber(ARGV[8]), tonumber(ARGV[9])
local names = ARGV[13]
local out, enqueued, by_domain = {}, 0, {}
local before = max_urls >= 0 and redis.call('HMGET', KEYS[2], 'enqueued', 'repeated') or {}
local room = max_urls - (tonumber(before[1]) or 0) + (tonumber(before[2]) or 0)

local today = math.floor(now / 86400) .. ' urls'
-- Return how many more URLs the crawl's token allows.
local quota = math.huge
if tonumber(ARGV[11]) >= 0 then quota = tonumber(ARGV[11]) - tonumber(redis.call('HGET', KEYS[5], today) or 0) end
if tonumber(ARGV[12]) >= 0 then
  quota = math.min(quota, tonumber(ARGV[12]) - tonumber(redis.call('HGET', KEYS[2], 'waiting') or 0))
end

-- Return the code of the limit that refuses a URL, or nil after counting the URL.
local function counted(domain, host)
  if max_urls >= 0 and enqueued >= room then return '3' end
  if enqueued >= quota then return '6' end
  if max_per_host >= 0 then
    if (tonumber(redis.call('HGET', KEYS[3], host)) or 0) >= max_per_host then return '4' end
    redis.call('HINCRBY', KEYS[3], host, 1)
  end
  enqueued = enqueued + 1
  by_domain[domain] = (by_domain[domain] or 0) + 1
end

for at = 1, #names, 16 do
  local name, place = names:sub(at, at + 15), 14 + (at - 1) / 8
  local domain, host = ARGV[place], ARGV[place + 1]
  local held = redis.call('HGET', KEYS[1], name)
  local until_s = held and expiry_of(held) or 0
  local members = held and held:match(':(.*)$')
  if held and not members then
    members = '0' -- version 0.1 wrote it
    redis.call('HINCRBY', KEYS[2]:match('^(.*:)%d+$') .. '0', 'enqueued', 1)
    redis.call('HINCRBY', KEYS[2]:match('^(.*:)%d+$') .. '0', 'waiting', 1)
    redis.call('HSET', KEYS[1], name, entry_of(until_s, '0'))
  end
  local is_mine, others = false, {}
  for member in (members or ''):gmatch('%S+') do
    if number_of(member) == crawl then is_mine = true else others[#others + 1] = member end
  end
  local left_s = until_s - now
  local holder = members and number_of(members) or '0'
  local counts_for_s = tonumber(tonumber(holder) > 1 and ARGV[6] or ARGV[5])
  local is_insisted = insist_after_s >= 0 and left_s < counts_for_s - insist_after_s
  local reply
  if left_s > unconfirmed_s and not is_insisted then
    if is_mine then
      reply = '0'
    else
      reply = counted(domain, host)
      if not reply then
        redis.call('HSET', KEYS[1], name, entry_of(until_s, members .. ' ' .. crawl .. '.' .. depth))
        reply = '2'
      end
    end
  elseif left_s <= unconfirmed_s and left_s > unconfirmed_s - patience_s then
    reply = '?'
  else
    reply = not is_mine and counted(domain, host) or nil
    if not reply then
      table.insert(others, 1, crawl)
      redis.call('HSET', KEYS[1], name, entry_of(now + unconfirmed_s, table.concat(others, ' ')))
      reply = '1'
    end
  end
  out[#out + 1] = reply
end
for domain, count in pairs(by_domain) do
  local field = domain .. ' waiting'
  if redis.call('HLEN', KEYS[4]) >= tonumber(ARGV[10]) and redis.call('HEXISTS', KEYS[4], field) == 0 then
    field = '* waiting'
  end
  redis.call('HINCRBY', KEYS[4], field, count)
end
if enqueued > 0 then
  redis.call('HINCRBY', KEYS[2], 'enqueued', enqueued)
  redis.call('HINCRBY', KEYS[2], 'waiting', enqueued)
  if tonumber(crawl) > 1 then redis.call('HINCRBY', KEYS[5], today, enqueued) end
end
return table.concat(out)
