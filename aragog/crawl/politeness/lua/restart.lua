-- restart: after a restart of the server, count that instant as the last send of every domain.
--
-- keys: run epoch
-- args: hold_us
--
-- KEYS[1]  {prefix}slots:run     string   run id of the server on which this script last ran
-- KEYS[2]  {prefix}slots:epoch   string   the node's ring and restart, see prelude.lua
-- ARGV[1]  how long a pre-granted permit is held (us)
--
-- Returns 1 if the server was restarted since, else 0.
-- After it, state that the append-only file did not save (a second or two), or that a new master did
-- not receive, cannot bring two requests closer than their interval. The version of the ring may be among
-- what was lost, so it is unknown until a caller brings it again. Each connection runs this script first.
local known = redis.call('GET', KEYS[1])
local run = redis.call('INFO', 'server'):match('run_id:(%x+)')
if known == run then return 0 end
redis.call('SET', KEYS[1], run)
if not known then return 0 end
redis.call('SET', KEYS[2], struct.pack(EPOCH, 0, now + ARGV[1]))
return 1
