-- in_flight_sweep: remove entries that have expired or whose crawls have ended; each call is one step of a scan.
--
-- keys: in_flight
-- args: prefix counts_for_s named_counts_for_s cursor ended
--
-- KEYS[1]  {prefix}in_flight  hash  see in_flight_mark.lua
-- ARGV[1]  prefix of the counts, see in_flight_prelude.lua
-- ARGV[2]  lifetime of entries of crawls 0 and 1 (s)   ARGV[3]  of other crawls
-- ARGV[4]  cursor of the scan; "0" starts a new one
-- ARGV[5]  numbers of crawls that have ended, with a space before and after each
--
-- Returns {next cursor, how many had expired, how many were cancelled}. Can run at any time, and more than once. A
-- step reads about 500 entries.

local page = redis.call('HSCAN', KEYS[1], ARGV[4], 'COUNT', 500)
local expired, cancelled, totals = 0, 0, {}
-- Counts are added up and written at the end: one increment per entry would block the server longer than the scan.
local function note(member, outcome)
  local key = number_of(member) .. ' ' .. outcome
  totals[key] = (totals[key] or 0) + 1
end
for i = 1, #page[2], 2 do
  local name, held = page[2][i], page[2][i + 1]
  local members = members_of(held)
  if expiry_of(held) <= server_time then
    for _, member in ipairs(members) do note(member, 'lost') end
    redis.call('HDEL', KEYS[1], name)
    expired = expired + 1
  elseif #members > 0 and #ARGV[5] > 2 then
    local kept = {}
    for _, member in ipairs(members) do
      if ARGV[5]:find(' ' .. number_of(member) .. ' ', 1, true) then
        note(member, 'cancelled')
      else
        kept[#kept + 1] = member
      end
    end
    if #kept == 0 then cancelled = cancelled + 1 end
    -- The entry's job names the ended crawl although another crawl wants the URL. in_flight_stop hands the job
    -- over.
    if #kept < #members then keep(KEYS[1], name, held, kept, tonumber(ARGV[2]), tonumber(ARGV[3])) end
  end
end
for key, times in pairs(totals) do
  local number, outcome = key:match('^(%d+) (.*)$')
  count(ARGV[1], number, outcome, '', 0, '', times)
end
return {page[1], expired, cancelled}
