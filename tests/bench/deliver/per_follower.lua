-- Pushes a post to one feed, if it is live: what one would write for a follower at a time.
--
-- KEYS  1 live, 2 the feed
-- ARGV  1 score, 2 member, 3 length above which the feed is cut, 4 keep
-- Returns 1 if it was pushed, else 0
if not redis.call('ZSCORE', KEYS[1], KEYS[2]) then
  return 0
end
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[2])
if redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[3]) then
  local first = tonumber(ARGV[4]) + 1
  local cut = redis.call('ZRANGE', KEYS[2], first, first, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', KEYS[2], first, -1)
  redis.call('ZADD', KEYS[2], cut[2], 'F')
end
return 1
