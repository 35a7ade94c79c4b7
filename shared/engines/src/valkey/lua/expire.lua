-- Drops old keys of one bucket. A list (a sorted set) holds the keys with their times: live feeds with the time
-- of their last read, or rel keys with the time of their last change. A key whose time has become later than
-- the limit since the caller read the list stays.
--
-- KEYS  1 the list, 2.. the keys
-- ARGV  1 the latest time that is dropped, in ms
-- Returns the number of dropped keys
local dropped = 0
for i = 2, #KEYS do
  local at = redis.call('ZSCORE', KEYS[1], KEYS[i])
  -- mutation: sweep-unread
  if at and tonumber(at) <= tonumber(ARGV[1]) then
    redis.call('ZREM', KEYS[1], KEYS[i])
    redis.call('UNLINK', KEYS[i])
    dropped = dropped + 1
  end
end
return dropped
