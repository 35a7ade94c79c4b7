-- Drops feeds of one bucket that were not read since a time.
--
-- KEYS  1 live, 2.. the feeds
-- ARGV  1 that time in ms
-- Returns how many were dropped: one that was read since the caller looked stays
local dropped = 0
for i = 2, #KEYS do
  local seen = redis.call('ZSCORE', KEYS[1], KEYS[i])
  if seen and tonumber(seen) <= tonumber(ARGV[1]) then
    redis.call('ZREM', KEYS[1], KEYS[i])
    redis.call('UNLINK', KEYS[i])
    dropped = dropped + 1
  end
end
return dropped
