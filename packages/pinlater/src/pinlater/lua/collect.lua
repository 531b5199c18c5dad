-- collect: add items to jobs that wait. The items that are due in the same span of time share a job.
--
-- ARGV[1]  1: accept the items although the server's memory is full
-- ARGV[2]  the priority   ARGV[3]  attempts allowed (0: the queue's)   ARGV[4]  name   ARGV[5]  key
-- ARGV[6]  the group; items of different groups never share a job
-- ARGV[7]  the span (ms)   ARGV[8]  the most items of a job
-- ARGV[9]  the body before the items   ARGV[10]  the body after the items
-- ARGV[11..]  two values for each item: its delay (ms) and its data
-- Names, keys and groups are escaped: they contain no '|'.
--
-- Returns the time (ms). Afterwards each item is in a job that was never claimed, whose items are
-- all due within one span. The job becomes due with the earliest of them.

if ARGV[1] == '1' then even_when_full() end
local frame = {
  priority = ARGV[2], allowed = ARGV[3], name = ARGV[4], key = ARGV[5], group = ARGV[6],
  span_ms = tonumber(ARGV[7]), most = tonumber(ARGV[8]), prefix = ARGV[9], suffix = ARGV[10]}
local items, soon = {}, false
for at = 11, #ARGV, 2 do
  local delay_ms = tonumber(ARGV[at])
  items[#items + 1] = {due = NOW + delay_ms, data = ARGV[at + 1]}
  soon = soon or delay_ms <= SOON_MS
end
count('enqueued', collect(frame, items))
if soon then wake() end
return {NOW}
