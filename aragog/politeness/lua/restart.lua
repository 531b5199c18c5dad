-- restart: after a restart of the server, count that instant as the last send of every domain.
--
-- keys: run restart
-- args: hold_us
--
-- KEYS[1]  {prefix}slots:run       string   run id of the server on which this script last ran
-- KEYS[2]  {prefix}slots:restart   string   the instant (us) that counts as every domain's last send
-- ARGV[1]  how long a pre-granted permit is held (us)
--
-- Returns 1 if the server was restarted since, else 0.
-- After it, state that the append-only file did not save (a second or two), or that a new master did
-- not receive, cannot bring two requests closer than their interval. Each connection runs it first.
local known = redis.call('GET', KEYS[1])
local run = redis.call('INFO', 'server'):match('run_id:(%x+)')
if known == run then return 0 end
redis.call('SET', KEYS[1], run)
if not known then return 0 end
local time = redis.call('TIME')
redis.call('SET', KEYS[2], time[1] * 1000000 + time[2] + ARGV[1], 'PX', 86400000)
return 1
