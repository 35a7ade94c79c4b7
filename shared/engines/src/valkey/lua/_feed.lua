-- Functions that the scripts of feeds share. This file and _memory.lua are put in front of each of them.
--
-- A feed is a sorted set. The score is the time in ms, negated. Members:
--   16 bytes     a post
--   'F'          the floor
--   'P'          the pending floor of a feed that is being rebuilt
--   'M<memory>'  at -inf, so it is always first: the memory in which the feed began
--   'L<author>'  at -inf: a pointer to a pulled author (8 bytes)
--   'L'          at -inf: present if there are pointers
--
-- A rel key has the member 'M<memory>' too, at +inf: the memory in which the key began.
--
-- Only locks, request limits and cards have a time to live, because a full server evicts such keys first. No rule
-- depends on a lock: a rebuild whose lock is gone is refused at its commit.

-- Returns the nth member (from 0) of packed entries, and its score. Entries are sent as one argument with 16
-- bytes each, because ElastiCache Serverless takes at most 3,999 arguments. The first 48 bits of an entry
-- are its time, inverted.
local function entry(packed, nth)
  local member = string.sub(packed, nth * 16 + 1, nth * 16 + 16)
  local time = 0
  for i = 1, 6 do
    time = time * 256 + 255 - string.byte(member, i)
  end
  return member, string.format('%d', -time)
end

-- The number of members up to which a server with default settings stores a compact list. Most pushes do not
-- check the length, so a feed can grow longer. The server never makes it compact again by itself.
local COMPACT_MAX = 128

-- Raises the floor of a feed to this score, unless it is as high already. A feed that is being rebuilt has no
-- floor: the score waits in 'P' for the commit.
local function raise_floor(feed, score)
  if redis.call('ZSCORE', feed, 'F') then
    redis.call('ZADD', feed, 'XX', 'LT', score, 'F')
  else
    redis.call('ZADD', feed, 'LT', score, 'P')
  end
end

-- Cuts a feed of more than `full` members back to its newest `keep` posts, and raises the floor to the newest
-- post that was cut. Members below the floor are removed in any case.
local function trim(feed, full, keep)
  local size = redis.call('ZCARD', feed)
  if size <= full then
    return
  end
  -- the memory and the pointers stand before all posts and are never cut
  local heads = redis.call('ZCOUNT', feed, '-inf', '-inf')
  local first = heads + math.max(keep + 1 - heads, 1) -- the rank of the first member to cut
  -- the floor is last, unless a late push added a post below it or the feed is being rebuilt
  local last = redis.call('ZRANGE', feed, -1, -1)[1] == 'F' and size - 1
  local floor = last or redis.call('ZRANK', feed, 'F')
  if floor and floor <= first then
    redis.call('ZREMRANGEBYRANK', feed, floor + 1, -1)
  elseif first < size then
    local cut = redis.call('ZRANGE', feed, first, first, 'WITHSCORES')
    -- mutation: trim-floor
    redis.call('ZREMRANGEBYRANK', feed, first, -1)
    if floor then
      redis.call('ZADD', feed, cut[2], 'F')
    else
      redis.call('ZADD', feed, 'LT', cut[2], 'P')
    end
  end
  if size > COMPACT_MAX and keep < COMPACT_MAX then
    redis.call('ZRANGESTORE', feed, feed, 0, -1) -- makes it a compact list again
  end
end

-- Drops a feed that a full server does not let change. Readers pull it until there is room for a rebuild. A rebuild that
-- is under way is refused at its commit.
local function drop(live, feed)
  redis.call('ZREM', live, feed)
  redis.call('UNLINK', feed)
end

-- Takes the lease of a rebuild and makes the feed live, empty and without a floor, so that later pushes reach
-- it. If the bucket has no valid memory, begins one with the time `since`. Returns 'busy' if another rebuild
-- holds the lease, 'built' if the feed is already built, 'full' if the server has no room for a rebuild, else 'begun'.
local function begin(gen, live, memory_key, feed, lock, now, since, token, lease)
  local taken = redis.pcall('SET', lock, token, 'NX', 'PX', lease)
  if taken and taken.err then
    return 'full'
  end
  if not taken then
    if redis.call('GET', lock) ~= token then
      return 'busy'
    end
    redis.call('PEXPIRE', lock, lease) -- the caller continues with a lease that was passed to it
  end
  local memory = memory_of(memory_key, gen)
  if not memory then
    -- mutation: memory-name
    memory = gen .. ':' .. since .. ':' .. token .. gen
    redis.call('SET', memory_key, memory)
  end
  local seen = redis.call('ZSCORE', live, feed)
  if seen and redis.call('ZSCORE', feed, 'M' .. memory) then
    if redis.call('ZSCORE', feed, 'F') then
      redis.call('DEL', lock)
      return 'built'
    end
    return 'begun'
  end
  redis.call('DEL', feed)
  redis.call('ZADD', feed, '-inf', 'M' .. memory)
  if not seen then
    -- mutation: feed-live
    redis.call('ZADD', live, now, feed)
  end
  return 'begun'
end
