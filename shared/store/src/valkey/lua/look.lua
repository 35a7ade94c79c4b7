-- Looks what there is before a relation is read and applied.
--
-- KEYS  1 live, 2 memory
-- ARGV  1 the feed's member in `live`
-- Returns {the memory or '', 1 if the feed is live, else 0}
local live = redis.call('ZSCORE', KEYS[1], ARGV[1])
return { redis.call('GET', KEYS[2]) or '', live and 1 or 0 }
