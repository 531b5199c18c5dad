-- reserve: give each request the next free slot of its domain, one interval after the last one.
--
-- keys: epoch slots...
-- args: ring requests
--
-- KEYS[1]    {prefix}slots:epoch     string   ring version and restart time of the node, see prelude.lua
-- KEYS[2..]  {prefix}slot:<domain>   string   the state, see slots.py; one key per request, which may be
--                                             repeated
-- ARGV[1]  packed <dd: the version of the caller's ring, how long a pre-granted permit lasts (us)
-- ARGV[2]  each request, packed <ddI4B: interval (us), the longest wait (us), token (0 for no pre-granted
--          permit), 1 if the request is urgent
--
-- Returns the error OTHERRING if the node has another ring. Otherwise <d now (us), then <dB per request:
-- the slot (us), and flags: 1 = it has a pre-granted permit, 2 = refused because the slot is later than the
-- longest wait, 4 = the domain had errors recently.
-- Each slot is its own interval after the previous one of its kind. Urgent slots are planned separately
-- and may fall between others; the permit then makes the others wait. A slot with a pre-granted permit
-- holds the domain's permit. A refused request changes nothing.
-- A planned slot in which nothing was sent in time counts as unused, so the next one is an interval after the last
-- request. Otherwise, a domain with one request in minutes would wait for minutes whenever a worker is late.
local PRE_GRANTED, REFUSED, FAILING = 1, 2, 4
local ring, hold = struct.unpack('<dd', ARGV[1])
local version, restart = struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH)
if version ~= ring then return redis.error_reply(OTHER_RING) end
local answers, at = {struct.pack('<d', now)}, 1
for n = 2, #KEYS do
  local interval, longest, token, urgent
  interval, longest, token, urgent, at = struct.unpack('<ddI4B', ARGV[2], at)
  local state = read_state(KEYS[n])
  local step = step_of(state, interval)
  -- A holder that has not reported may send at any moment until its permit expires.
  local open = math.max(state.last + state.held, restart) + step
  local planned = state.planned
  if state.last < planned and planned + hold < now then planned = state.last end
  local granted = token > 0 and open <= now and planned + step <= now
  local slot
  if urgent == 1 then
    slot = math.max(now, state.last + step, state.urgent + step)
  else
    slot = math.max(now, planned + step, state.holder == 0 and open or 0)
  end
  local flags = failing(state) and FAILING or 0
  if slot - now > longest then
    flags = flags + REFUSED
  else
    if granted then
      flags = flags + PRE_GRANTED
      state.last, state.lag, state.holder, state.held = now, 0, token, hold
    end
    if urgent == 1 then state.urgent = slot end
    state.planned = math.max(state.planned, slot)
    write_state(KEYS[n], state, step)
  end
  answers[#answers + 1] = struct.pack('<dB', slot, flags)
end
return table.concat(answers)
