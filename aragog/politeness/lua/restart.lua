-- restart: after a restart of the server, count that instant as the last send of every domain.
--
-- keys: run restart
-- args: run_id hold_us
--
-- KEYS[1]  {prefix}slots:run       string   run id of the server that this was last done on
-- KEYS[2]  {prefix}slots:restart   string   instant (us) that counts as everybody's last departure
-- ARGV[1]  run id of the server   ARGV[2]  hold of a pre-granted permit (us)
--
-- Returns 1 when the server had been restarted since, 0 when not.
-- True after it: what the append-only file did not save (a second or two) cannot bring two requests
-- closer than their interval. Must run before the other scripts are loaded.
local run = redis.call('GET', KEYS[1])
if run == ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
if not run then return 0 end
local time = redis.call('TIME')
redis.call('SET', KEYS[2], time[1] * 1000000 + time[2] + ARGV[2], 'PX', 86400000)
return 1
