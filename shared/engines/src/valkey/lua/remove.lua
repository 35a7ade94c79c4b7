-- Removes posts from a feed that everybody reads. A rebuild that is under way loses its lease, because it may have read them.
--
-- KEYS  1 the feed, 2 its lock
-- ARGV  1.. the members
-- Returns the number of posts that were there
-- mutation: shared-rebuild-cancelled
redis.call('UNLINK', KEYS[2])
return redis.call('ZREM', KEYS[1], unpack(ARGV))
