-- Reads a page of a feed, newest first, and notes that it was read.
--
-- KEYS  1 live, 2 the feed
-- ARGV  1 its member in `live`, 2 now in ms, 3 how old the note may be, 4 the score to begin at
--       (or -inf), 5 how many members
-- Returns {0} if the feed is not live, {1} if it has no floor (it is being rebuilt), else
--       {2, score of the floor, members above the floor}: of those at the score to begin at all,
--       and of the others as many as were asked for
local seen = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not seen then
  return {0}
end
local floor = redis.call('ZSCORE', KEYS[2], 'F')
if not floor then
  return {1}
end
if tonumber(ARGV[2]) - tonumber(seen) > tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[1], 'XX', 'GT', ARGV[2], ARGV[1])
end
local count = tonumber(ARGV[5])
if ARGV[4] ~= '-inf' then
  count = count + redis.call('ZCOUNT', KEYS[2], ARGV[4], ARGV[4])
end
return {2, floor, redis.call('ZRANGE', KEYS[2], ARGV[4], '(' .. floor, 'BYSCORE', 'LIMIT', 0, count)}
