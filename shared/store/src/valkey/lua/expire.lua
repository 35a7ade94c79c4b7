-- Drops keys of one bucket that a list names with a time: live feeds by when they were last read, and
-- relations by their last change.
--
-- KEYS  1 the list, 2.. the keys
-- ARGV  1 that time in ms
-- Returns how many were dropped: one whose time is later, since the caller looked, stays
local dropped = 0
for i = 2, #KEYS do
  local at = redis.call('ZSCORE', KEYS[1], KEYS[i])
  if at and tonumber(at) <= tonumber(ARGV[1]) then
    redis.call('ZREM', KEYS[1], KEYS[i])
    redis.call('UNLINK', KEYS[i])
    dropped = dropped + 1
  end
end
return dropped
