-- note_outcomes: add outcomes to the last ones of domains.
--
-- keys: domains...
-- args: kept kept_s codes...
--
-- KEYS[1..]  {prefix}outcomes:<domain>  string  <d: time of the last outcome (ms), then one byte each
-- ARGV[1]  how many outcomes are kept   ARGV[2]  for how long they are kept (s)
-- ARGV[3..]  the new outcomes of each key, one byte each, oldest first
--
-- Returns nothing. A call that is repeated adds the outcomes again.
local time = redis.call('TIME')
local at = struct.pack('<d', time[1] * 1000 + math.floor(time[2] / 1000))
local kept = tonumber(ARGV[1])
for n = 1, #KEYS do
  local codes = string.sub(redis.call('GET', KEYS[n]) or '', 9) .. ARGV[n + 2]
  redis.call('SET', KEYS[n], at .. string.sub(codes, -kept), 'EX', ARGV[2])
end
