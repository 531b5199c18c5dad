-- in_flight_end: count the outcomes of URLs, by removing the URLs from the sets of their crawls.
--
-- keys: in_flight
-- args: prefix counts_for_s named_counts_for_s endings...
--
-- KEYS[1]  {prefix}in_flight  hash  see in_flight_mark.lua
-- ARGV[1]  prefix of the counts, see in_flight_prelude.lua
-- ARGV[2]  lifetime of entries of crawls 0 and 1 (s)   ARGV[3]  of other crawls
-- ARGV[4..]  seven values per URL: name (16 bytes), the number of its crawl, the outcome, its domain, bytes, 1 if
--            it has ended for every crawl that wants it, and labels to count in addition to the outcome
--
-- Returns for each URL the next crawl that wants it, and the depth ("4.2"), or "".
-- A URL is counted once in each crawl in which it has ended, however often this is called.

local out = {}
for n = 4, #ARGV, 7 do
  local name, crawl, outcome, domain = ARGV[n], ARGV[n + 1], ARGV[n + 2], ARGV[n + 3]
  local held = redis.call('HGET', KEYS[1], name)
  local following = ''
  if held then
    local members, kept = members_of(held), {}
    for _, member in ipairs(members) do
      if number_of(member) == crawl or ARGV[n + 5] == '1' then
        count(ARGV[1], number_of(member), outcome, domain, tonumber(ARGV[n + 4]), ARGV[n + 6])
      else
        kept[#kept + 1] = member
      end
    end
    if #members == 0 or #kept < #members then
      keep(KEYS[1], name, held, kept, tonumber(ARGV[2]), tonumber(ARGV[3]))
    end
    -- An entry without a depth has sent its own job.
    following = kept[1] and kept[1]:find('.', 1, true) and kept[1] or ''
  end
  out[#out + 1] = following
end
return out
