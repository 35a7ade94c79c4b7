-- Drops feeds of one bucket, also while they are read or rebuilt. A rebuild that is under way loses its lease.
--
-- KEYS  1 live, then for each feed: the feed, its lock
-- Returns the number of feeds that were live
local dropped = 0
for i = 2, #KEYS, 2 do
  dropped = dropped + redis.call('ZREM', KEYS[1], KEYS[i])
  -- mutation: drop-lease
  redis.call('UNLINK', KEYS[i], KEYS[i + 1])
end
return dropped
