-- end_request: free the concurrency slot of a request.
--
-- keys: epoch running
-- args: ring token
--
-- KEYS[1]  {prefix}slots:epoch          string   ring version and restart time of the node, see prelude.lua
-- KEYS[2]  {prefix}concurrent:<domain>  zset     token of each request in progress -> when it counts as
--                                                ended (us)
-- ARGV[1]  the version of the caller's ring
-- ARGV[2]  the token of the request
--
-- Returns the error OTHERRING if the node has another ring, else <d now (us).
-- Can be repeated.
if struct.unpack(EPOCH, redis.call('GET', KEYS[1]) or NO_EPOCH) ~= tonumber(ARGV[1]) then
  return redis.error_reply(OTHER_RING)
end
redis.call('ZREM', KEYS[2], ARGV[2])
return struct.pack('<d', now)
