-- What the scripts that write feeds share; it is put in front of each of them.
--
-- A feed is a sorted set. Member: 16 bytes (a post), 'F' (the floor) or 'P' (the pending floor
-- of a feed that is being rebuilt). Score: the time in ms, negated.

-- Raises the floor of a feed to this score, if it is not that high already. A feed that is
-- being rebuilt has no floor yet: what is known of it waits in 'P' for the commit.
local function raise_floor(feed, score)
  if redis.call('ZSCORE', feed, 'F') then
    redis.call('ZADD', feed, 'XX', 'LT', score, 'F')
  else
    redis.call('ZADD', feed, 'LT', score, 'P')
  end
end

-- Cuts a feed of more than `cap` members back to its newest `keep`, and raises the floor to the
-- newest that was cut. What stands below the floor goes in any case.
local function trim(feed, cap, keep)
  if redis.call('ZCARD', feed) <= cap then
    return
  end
  local floor = redis.call('ZRANK', feed, 'F')
  if floor and floor <= keep then
    redis.call('ZREMRANGEBYRANK', feed, floor + 1, -1)
    return
  end
  local cut = redis.call('ZRANGE', feed, keep, keep, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', feed, keep, -1)
  if floor then
    redis.call('ZADD', feed, cut[2], 'F')
  else
    redis.call('ZADD', feed, 'LT', cut[2], 'P')
  end
end
