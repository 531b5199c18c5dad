-- robots_get: rules of origins, without the bodies that the caller has already.
--
-- keys: records...
-- args: versions head_bytes
--
-- KEYS[1..]  {prefix}robots:<origin>   string   packed record, see robots_record.py
-- ARGV[1]  versions the caller has, 8 bytes a key; zeros: none   ARGV[2]  length of a record's head
--
-- Returns a record a key: its head alone when the version is the caller's, false when there is none.
-- True after it: each record found is marked as used, so that it is refreshed before it expires.
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
