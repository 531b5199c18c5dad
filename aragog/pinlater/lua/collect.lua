-- collect: add items to jobs that wait, one job for the items due in the same span of time.
--
-- ARGV[1]  1: take them although the server's memory is full
-- ARGV[2]  priority   ARGV[3]  attempts allowed (0: the queue's)   ARGV[4]  name   ARGV[5]  key
-- ARGV[6]  group: items of different groups never share a job
-- ARGV[7]  span (ms)   ARGV[8]  most items of a job   ARGV[9]  body up to the items
-- ARGV[10] body after the items; then two an item: delay_ms, item
--          names, keys and groups escaped (no '|')
-- Returns now_ms.
-- After it each item is in a job that becomes due with the earliest of its items, all of which are
-- due within one span, and that was never claimed before.

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
