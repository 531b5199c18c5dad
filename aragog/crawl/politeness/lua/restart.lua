-- restart: after a restart of the server, treat the current time as the last send of every domain.
--
-- keys: run epoch
-- args: hold_us
--
-- KEYS[1]  {prefix}slots:run     string   run ID of the server when this script last ran
-- KEYS[2]  {prefix}slots:epoch   string   ring version and restart time of the node, see prelude.lua
-- ARGV[1]  how long a pre-granted permit lasts (us)
--
-- Returns 1 if the server was restarted in the meantime, else 0.
-- State that the append-only file did not save (a second or two), or that a new master did not receive,
-- therefore cannot bring two requests closer together than their interval. The ring version may be among
-- what was lost, so it is unknown until a caller sends it again. Each connection runs this script first.
local known = redis.call('GET', KEYS[1])
local run = redis.call('INFO', 'server'):match('run_id:(%x+)')
if known == run then return 0 end
redis.call('SET', KEYS[1], run)
if not known then return 0 end
redis.call('SET', KEYS[2], struct.pack(EPOCH, 0, now + ARGV[1]))
return 1
