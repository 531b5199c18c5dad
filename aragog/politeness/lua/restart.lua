-- restart: after a restart of the server, count that instant as the last send of every domain.
--
-- keys: run restart
-- args: hold_us
--
-- KEYS[1]  {prefix}slots:run       string   run id of the server that this last ran on
-- KEYS[2]  {prefix}slots:restart   string   instant (us) that counts as everybody's last departure
-- ARGV[1]  hold of a pre-granted permit (us)
--
-- Returns 1 if the server was restarted since, else 0.
-- True after it: what the append-only file did not save (a second or two), or a new master did not
-- receive, cannot bring two requests closer than their interval. Must be the first command of each
-- connection.
local known = redis.call('GET', KEYS[1])
local run = redis.call('INFO', 'server'):match('run_id:(%x+)')
if known == run then return 0 end
redis.call('SET', KEYS[1], run)
if not known then return 0 end
local time = redis.call('TIME')
redis.call('SET', KEYS[2], time[1] * 1000000 + time[2] + ARGV[1], 'PX', 86400000)
return 1
