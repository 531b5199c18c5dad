-- in_flight_entry: code prepended to the scripts that read or write entries of the in-flight set.
--
-- KEYS[1] is {prefix}in_flight, as in in_flight_mark.lua. It returns nothing.
-- An entry is its expiry, ":" and the crawls that want the URL, as in in_flight_mark.lua. The expiry (s since the
-- epoch) has six digits in base 36. Entries written earlier have ten decimal digits. The four bytes saved are
-- about what a second crawl adds, so the server usually needs no more memory for two crawls than for one.

local DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

local function number_of(member) return member:match('^%d+') end

local function expiry_of(held)
  local digits = held:match('^%w+')
  return tonumber(digits, #digits < 10 and 36 or 10)
end

-- An entry that expires at this time, with its crawls separated by spaces.
local function entry_of(expiry_s, crawls)
  local digits, rest = '', expiry_s
  while rest > 0 do
    local digit = rest % 36
    digits, rest = DIGITS:sub(digit + 1, digit + 1) .. digits, (rest - digit) / 36
  end
  return digits .. ':' .. crawls
end

