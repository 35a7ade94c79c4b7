-- Drops feeds of one user, whoever reads or rebuilds them. A rebuild that is under way finds its lease
-- gone.
--
-- KEYS  1 live, then for each feed: the feed, its lock
-- Returns how many were live
local dropped = 0
for i = 2, #KEYS, 2 do
  dropped = dropped + redis.call('ZREM', KEYS[1], KEYS[i])
  redis.call('UNLINK', KEYS[i], KEYS[i + 1])
end
return dropped
