-- traps_save: replace the budgets of a host, if they are still those that were read.
--
-- keys: budgets
-- args: mark new_mark kept_s state
--
-- KEYS[1]  {prefix}traps:<host>  string  a mark of 8 bytes, and the budgets of its URL templates
-- ARGV[1]  the mark that was read; "": there were none   ARGV[2]  the new mark
-- ARGV[3]  after how many seconds they expire   ARGV[4]  the budgets
--
-- Returns 1, or 0 if another process has changed them since: then nothing was written.
-- After it the budgets are those given.
if redis.call('GETRANGE', KEYS[1], 0, 7) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2] .. ARGV[4], 'EX', tonumber(ARGV[3]))
return 1
