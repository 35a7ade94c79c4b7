-- What the scripts share; it is put in front of each of them.
--
-- A feed is a sorted set. Score: the time in ms, negated. Members:
--   16 bytes   a post
--   'F'        the floor
--   'P'        the pending floor of a feed that is being rebuilt
--   'M<memory>' at -inf, so always first: the memory in which the feed was begun
--
-- A rel key has the memory in which it was written as a member, too ('M<memory>', at +inf).
--
-- memory:{b} says since when this server remembers bucket b without a gap: '<generation>:<ms>'.
-- The generation is the start of the server's replication id, which changes when a replica is
-- promoted, when a snapshot is loaded and when the bucket moves to another node: in each case
-- writes that were acknowledged may be missing. Then, or when all is lost, the next rebuild begins
-- a new memory, and feeds and relations of an older one are not believed any more.

-- This server's generation; false on a replica, which takes no writes and may be behind.
local function generation()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then
    return '-' -- a server that does not tell
  end
  if string.find(info, 'role:slave', 1, true) then
    return false
  end
  return string.match(info, 'master_replid:(%x%x%x%x%x%x%x%x)') or '-'
end

local READ_ONLY = { err = 'READONLY this server is a replica' }

-- The memory under this key, if it is of this generation.
local function memory_of(key, gen)
  local memory = redis.call('GET', key)
  return memory and string.sub(memory, 1, #gen + 1) == gen .. ':' and memory
end

-- Raises the floor of a feed to this score, if it is not that high already. A feed that is
-- being rebuilt has no floor yet: what is known of it waits in 'P' for the commit.
local function raise_floor(feed, score)
  if redis.call('ZSCORE', feed, 'F') then
    redis.call('ZADD', feed, 'XX', 'LT', score, 'F')
  else
    redis.call('ZADD', feed, 'LT', score, 'P')
  end
end

-- Cuts a feed of more than `cap` members back to its newest `keep` posts, and raises the floor to
-- the newest that was cut. What stands below the floor goes in any case.
local function trim(feed, cap, keep)
  if redis.call('ZCARD', feed) <= cap then
    return
  end
  local first = keep + 1 -- the rank of the first to go: the memory has rank 0
  local floor = redis.call('ZRANK', feed, 'F')
  if floor and floor <= first then
    redis.call('ZREMRANGEBYRANK', feed, floor + 1, -1)
    return
  end
  local cut = redis.call('ZRANGE', feed, first, first, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', feed, first, -1)
  if floor then
    redis.call('ZADD', feed, cut[2], 'F')
  else
    redis.call('ZADD', feed, 'LT', cut[2], 'P')
  end
end
