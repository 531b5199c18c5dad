-- in_flight_stop: remove URLs from the sets of ended crawls, and find the crawls that still want them.
--
-- keys: in_flight
-- args: prefix counts_for_s named_counts_for_s unconfirmed_s ended paused urls...
--
-- KEYS[1]  {prefix}in_flight  hash  see in_flight_mark.lua
-- ARGV[1]  prefix of the counts, see in_flight_prelude.lua
-- ARGV[2]  lifetime of entries of crawls 0 and 1 (s)   ARGV[3]  of other crawls
-- ARGV[4]  lifetime of an entry whose message may not have been sent yet (s)
-- ARGV[5]  numbers of ended crawls, with a space before and after each   ARGV[6]  of paused crawls
-- ARGV[7..]  five values per URL: name (16 bytes), the number of its job's crawl, the depth of that job, its
-- domain,
--            and the time (s) up to which it is cancelled for every crawl if it was enqueued by then; 0 if it is
--            not
--
-- Returns for each URL "+" if its job continues, "x" if it ends, "p" if it waits for a paused crawl, or else the
-- crawl and depth for which its job continues ("4.2"): a crawl that was added to the entry and sent no job.
-- Afterward, no entry names an ended crawl, and each URL is counted as cancelled once in each ended crawl.

local out = {}
local counts_for_s, named_counts_for_s, unconfirmed_s = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local function is_in(numbers, member) return numbers:find(' ' .. number_of(member) .. ' ', 1, true) end
for n = 7, #ARGV, 5 do
  local name, crawl, cut_s = ARGV[n], ARGV[n + 1], tonumber(ARGV[n + 4])
  local held = redis.call('HGET', KEYS[1], name)
  local reply
  if not held then
    reply = (is_in(ARGV[5], crawl) and 'x') or (is_in(ARGV[6], crawl) and 'p') or '+'
  else
    local members, kept, open, mine = members_of(held), {}, {}, nil
    if #members == 0 then members = {'0'} end
    local lasts_s = tonumber(number_of(members[1])) > 1 and named_counts_for_s or counts_for_s
    local until_s = expiry_of(held)
    -- A worker may receive the message before its producer has confirmed it.
    if until_s - server_time <= unconfirmed_s then lasts_s = unconfirmed_s end
    local enqueued_s = until_s - lasts_s
    for _, member in ipairs(members) do
      if is_in(ARGV[5], member) or enqueued_s <= cut_s and cut_s > 0 then
        if held:find(':', 1, true) then count(ARGV[1], number_of(member), 'cancelled', ARGV[n + 3], 0) end
      else
        kept[#kept + 1] = member
        if number_of(member) == crawl then mine = member end
        if not is_in(ARGV[6], member) then open[#open + 1] = member end
      end
    end
    local following = kept[1]
    if not following then
      reply = 'x'
    elseif mine then
      reply = '+'
      if is_in(ARGV[6], mine) then
        reply = 'p'
        if #open > 0 then following, reply = open[1], open[1] end
      end
    elseif not following:find('.', 1, true) then
      reply = 'x' -- its own job is on its way
    else
      following = open[1] or following
      reply = following
    end
    if #kept < #members or following ~= kept[1] then
      local ordered = {following}
      for _, member in ipairs(kept) do
        if member ~= following then
          -- The job of this crawl continues for another one, so it needs one later, with the same depth.
          local has_no_job = member == mine and not member:find('.', 1, true)
          ordered[#ordered + 1] = has_no_job and member .. '.' .. ARGV[n + 2] or member
        end
      end
      keep(KEYS[1], name, held, ordered, counts_for_s, named_counts_for_s)
    end
  end
  out[#out + 1] = reply
end
return out
