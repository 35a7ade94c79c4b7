-- Drops the relations of one bucket in which nothing has changed since a time.
--
-- KEYS  1 rels, 2.. rel of some authors
-- ARGV  1 that time in ms
-- Returns how many were dropped: one that has changed since the caller looked stays
local dropped = 0
for i = 2, #KEYS do
  local changed = redis.call('ZSCORE', KEYS[1], KEYS[i])
  if changed and tonumber(changed) <= tonumber(ARGV[1]) then
    redis.call('ZREM', KEYS[1], KEYS[i])
    redis.call('UNLINK', KEYS[i])
    dropped = dropped + 1
  end
end
return dropped
