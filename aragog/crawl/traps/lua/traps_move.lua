-- traps_move: hold links of a host for a verdict, or write down what the verdict was.
--
-- keys: held waiting
-- args: host crawls max_held max_left moves...
--
-- KEYS[1]  {prefix}traps.links:<host>  hash  number of a crawl, blank, link -> how it is enqueued, as JSON
-- KEYS[2]  {prefix}traps.waiting       zset  host with such links -> when they changed last (s)
-- ARGV[1]  the host   ARGV[2]  prefix of the counts of crawls: a key that the script makes of it is {prefix}crawl:<n>,
--          hash with the fields "of held" and "of trap", or {prefix}crawl:<n>:left, hash, bucket -> the codes of
--          links that were left out for the crawl, 6 bytes each
-- ARGV[3]  the most links of the host that are held; further ones are left out
-- ARGV[4]  the most links that are counted as left out for a crawl on this server
-- ARGV[5..]  six values a link: what becomes of it ("h" held, "f" followed, "d" left out, "u" left out unless it is
--            held, "x" forgotten because its crawl has ended), the number of its crawl, the link, how it is enqueued,
--            its bucket and its code
--
-- Returns {links held, how many links were counted as left out, how many no longer}.
-- After it a link is held or left out for a crawl, or neither, and is counted once where it is. Safe to run twice.

redis.call('HDEL', KEYS[1], '') -- on a server with full memory a script may go on after a write without effect
local CODE = 6
local max_held, max_left = tonumber(ARGV[3]), tonumber(ARGV[4])
local added, removed = 0, 0

local function place_of(codes, code)
  local at = codes:find(code, 1, true)
  while at and (at - 1) % CODE ~= 0 do at = codes:find(code, at + 1, true) end
  return at
end

local function leave_out(counts, bucket, code)
  local codes = redis.call('HGET', counts .. ':left', bucket) or ''
  if place_of(codes, code) or (tonumber(redis.call('HGET', counts, 'of trap')) or 0) >= max_left then return end
  redis.call('HSET', counts .. ':left', bucket, codes .. code)
  redis.call('HINCRBY', counts, 'of trap', 1)
  added = added + 1
end

local function take_back(counts, bucket, code)
  local codes = redis.call('HGET', counts .. ':left', bucket)
  local at = codes and place_of(codes, code)
  if not at then return end
  codes = codes:sub(1, at - 1) .. codes:sub(at + CODE)
  if codes == '' then redis.call('HDEL', counts .. ':left', bucket)
  else redis.call('HSET', counts .. ':left', bucket, codes) end
  redis.call('HINCRBY', counts, 'of trap', -1)
  removed = removed + 1
end

for n = 5, #ARGV, 6 do
  local move, crawl, bucket, code = ARGV[n], ARGV[n + 1], ARGV[n + 4], ARGV[n + 5]
  local counts, link = ARGV[2] .. crawl, crawl .. ' ' .. ARGV[n + 2]
  local is_held = redis.call('HEXISTS', KEYS[1], link) == 1
  if move == 'h' and not is_held and redis.call('HLEN', KEYS[1]) >= max_held then move = 'd' end
  if move == 'h' then
    if not is_held then
      redis.call('HSET', KEYS[1], link, ARGV[n + 3])
      redis.call('HINCRBY', counts, 'of held', 1)
      take_back(counts, bucket, code)
    end
  elseif move ~= 'u' or not is_held then
    if is_held then
      redis.call('HDEL', KEYS[1], link)
      redis.call('HINCRBY', counts, 'of held', -1)
    end
    if move == 'f' then take_back(counts, bucket, code)
    elseif move ~= 'x' then leave_out(counts, bucket, code) end
  end
end
local held = redis.call('HLEN', KEYS[1])
if held == 0 then redis.call('ZREM', KEYS[2], ARGV[1])
else redis.call('ZADD', KEYS[2], redis.call('TIME')[1], ARGV[1]) end
return {held, added, removed}
