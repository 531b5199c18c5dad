-- domain_export: read the state of domains for the node that takes them over, and mark it as moved.
--
-- keys: epoch pairs...
-- args: ring
--
-- KEYS[1]    {prefix}slots:epoch          string   ring version and restart time of the node, see prelude.lua
-- KEYS[2..]  {prefix}slot:<domain>        string   the state, see slots.py; one byte longer after it has moved
--            {prefix}concurrent:<domain>  zset     token of each request in progress -> when it counts as
--                                                  ended (us); both keys per domain
-- ARGV[1]    the version of the caller's ring
--
-- Returns the error OTHERRING if the node has another ring. Otherwise one string per domain, for
-- domain_import.lua; empty if the node has no state of it.
-- Since this node has the new ring, it refuses callers with an earlier one, so the returned state no longer
-- changes: it can be read again, and stays here until it expires. A report by a sender with the earlier ring
-- finds the mark and goes to the new node.
local DAY = 86400000000
local version, restart = struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH)
if version ~= tonumber(ARGV[1]) then return redis.error_reply(OTHER_RING) end
if restart < now - DAY then restart = 0 end
local answers = {}
for n = 2, #KEYS, 2 do
  local packed = redis.call('GET', KEYS[n]) or ''
  local life = math.max(redis.call('PTTL', KEYS[n]), 1)
  local running = redis.call('ZRANGE', KEYS[n + 1], 0, -1, 'WITHSCORES')
  if #packed == BYTES then redis.call('SET', KEYS[n], packed .. '>', 'PX', life) end
  local answer = ''
  if #packed >= BYTES or #running > 0 or restart > 0 then
    answer = cmsgpack.pack({now, string.sub(packed, 1, BYTES), life, running, restart})
  end
  answers[#answers + 1] = answer
end
return answers
