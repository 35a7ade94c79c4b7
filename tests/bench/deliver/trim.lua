-- Cuts feeds that have grown too long, as a push does.
--
-- KEYS  the feeds
-- ARGV  1 length above which they are cut, 2 keep
for _, feed in ipairs(KEYS) do
  if redis.call('ZCARD', feed) > tonumber(ARGV[1]) then
    local first = tonumber(ARGV[2]) + 1
    local cut = redis.call('ZRANGE', feed, first, first, 'WITHSCORES')
    redis.call('ZREMRANGEBYRANK', feed, first, -1)
    redis.call('ZADD', feed, cut[2], 'F')
  end
end
