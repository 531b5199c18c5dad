-- line_prelude: code prepended to the scripts of the lines in which requests wait for their slots.
--
-- A later key of KEYS, or a key that a script makes of its arguments, is {prefix}line:<priority>:<domain>,
-- a list of entries. "{prefix}line:" is the lists' prefix.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local PRIORITIES = 10

-- Return the domain in the key of a list.
local function domain_of(list, prefix_bytes)
  return string.sub(list, prefix_bytes + 3)
end

-- Put entries back in front of their lines: a list's key and an entry alternating, in their order.
local function put_back(pairs_, waiting, prefix_bytes)
  for n = #pairs_ - 1, 1, -2 do
    redis.call('LPUSH', pairs_[n], pairs_[n + 1])
    redis.call('ZINCRBY', waiting, 1, domain_of(pairs_[n], prefix_bytes))
  end
end

-- On a server with full memory, a script fails at its first command that may need memory, unless it has
-- already written. These scripts move what exists already, so they begin with a write without effect.
local function even_when_full(set)
  redis.call('ZREM', set, '')
end

