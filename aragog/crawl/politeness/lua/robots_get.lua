-- robots_get: return the rules of origins, without rules that the caller already has.
--
-- keys: records...
-- args: versions head_bytes
--
-- KEYS[1..]  {prefix}robots:<origin>   string   packed record, see robots_records.py
-- ARGV[1]  the version of each record that the caller has, 8 bytes each; 8 zeros if it has none
-- ARGV[2]  the length of a record's head
--
-- Returns the record for each key: only its head if the caller has this version, false if there is no
-- record.
-- Marks each record found as used, so that it is refreshed before it expires.
local answers = {}
local head = tonumber(ARGV[2])
for n = 1, #KEYS do
  local record = redis.call('GET', KEYS[n])
  if record then
    if string.byte(record, 1) == 0 then redis.call('SETRANGE', KEYS[n], 0, '\1') end
    if string.sub(record, 2, 9) == string.sub(ARGV[1], 8 * n - 7, 8 * n) then
      record = string.sub(record, 1, head)
    end
  end
  answers[n] = record
end
return answers
