-- What the scripts share; it is put in front of each of them.
--
-- A feed is a sorted set. Score: the time in ms, negated. Members:
--   16 bytes   a post
--   'F'        the floor
--   'P'        the pending floor of a feed that is being rebuilt
--   'M<memory>' at -inf, so always among the first: the memory in which the feed was begun
--   'L<author>' at -inf: a pointer, to an author (8 bytes) whose posts are not pushed; and 'L' if there
--              is any
--
-- A rel key has the memory in which it was written as a member, too ('M<memory>', at +inf).
--
-- memory:{b} says since when this server remembers bucket b without a gap: '<generation>:<ms>:<token>'.
-- The generation is the start of the server's replication id, which changes when a replica is
-- promoted, when a snapshot is loaded and when the bucket moves to another node: in each case
-- writes that were acknowledged may be missing. Then, or when all is lost, the next rebuild begins
-- a new memory, and feeds and relations of an older one are not believed any more. The token, that of
-- the rebuild, makes the name unique: all may be lost in the millisecond in which a memory began. The
-- time must not be earlier than the moment in which this happens, so callers send one that is later than
-- they expect the script to run: a push that was cut before it asks DynamoDB.
--
-- Only locks have a time to live, because a full server evicts such keys first. Nothing relies on a
-- lock: a rebuild whose lock is gone is refused at its commit.

-- This server's generation; false on a replica, which takes no writes and may be behind.
local function generation()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then
    return '-' -- a server that does not tell
  end
  -- the role is the first line after the heading; a pattern would look at every place
  if string.find(string.sub(info, 1, 64), 'role:slave', 1, true) then
    return false
  end
  local _, last = string.find(info, 'master_replid:', 1, true)
  return last and string.sub(info, last + 1, last + 8) or '-'
end

-- Entries are sent packed, 16 bytes each, because ElastiCache Serverless takes 3,999 arguments at the
-- most. Returns the nth one (from 0), and its score: the time is in the first 48 bits, inverted.
local function entry(packed, nth)
  local member = string.sub(packed, nth * 16 + 1, nth * 16 + 16)
  local time = 0
  for i = 1, 6 do
    time = time * 256 + 255 - string.byte(member, i)
  end
  return member, string.format('%d', -time)
end

local READ_ONLY = { err = 'READONLY this server is a replica' }

-- The memory under this key, if it is of this generation.
local function memory_of(key, gen)
  local memory = redis.call('GET', key)
  return memory and string.sub(memory, 1, #gen + 1) == gen .. ':' and memory
end

-- Members up to which a server with default settings keeps a compact list. Lengths are not looked at
-- with every push, so a feed may outgrow it, which the server itself never takes back.
local COMPACT_MAX = 128

-- Raises the floor of a feed to this score, if it is not that high already. A feed that is
-- being rebuilt has no floor yet: what is known of it waits in 'P' for the commit.
local function raise_floor(feed, score)
  if redis.call('ZSCORE', feed, 'F') then
    redis.call('ZADD', feed, 'XX', 'LT', score, 'F')
  else
    redis.call('ZADD', feed, 'LT', score, 'P')
  end
end

-- Cuts a feed of more than `full` members back to its newest `keep` posts, and raises the floor to
-- the newest that was cut. What stands below the floor goes in any case.
local function trim(feed, full, keep)
  local size = redis.call('ZCARD', feed)
  if size <= full then
    return
  end
  -- the memory and pointers go before all posts, and never go
  local heads = redis.call('ZCOUNT', feed, '-inf', '-inf')
  local first = heads + math.max(keep + 1 - heads, 1) -- the rank of the first to go
  -- the floor is last, unless a late push fell below it or the feed is being rebuilt
  local last = redis.call('ZRANGE', feed, -1, -1)[1] == 'F' and size - 1
  local floor = last or redis.call('ZRANK', feed, 'F')
  if floor and floor <= first then
    redis.call('ZREMRANGEBYRANK', feed, floor + 1, -1)
  elseif first < size then
    local cut = redis.call('ZRANGE', feed, first, first, 'WITHSCORES')
    redis.call('ZREMRANGEBYRANK', feed, first, -1)
    if floor then
      redis.call('ZADD', feed, cut[2], 'F')
    else
      redis.call('ZADD', feed, 'LT', cut[2], 'P')
    end
  end
  if size > COMPACT_MAX and keep < COMPACT_MAX then
    redis.call('ZRANGESTORE', feed, feed, 0, -1) -- a compact list again
  end
end

-- Takes the lease of a rebuild and makes the feed live, empty and without a floor, so that what is
-- pushed from now on lands in it. 'busy' if another rebuild is at work, 'built' if there is nothing to
-- do, else 'begun'. A new memory is said to begin at `since`.
local function begin(gen, live, memory_key, feed, lock, now, since, token, lease)
  if not redis.call('SET', lock, token, 'NX', 'PX', lease) then
    if redis.call('GET', lock) ~= token then
      return 'busy'
    end
    redis.call('PEXPIRE', lock, lease) -- the lease was handed on
  end
  local memory = memory_of(memory_key, gen)
  if not memory then
    memory = gen .. ':' .. since .. ':' .. token
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
    redis.call('ZADD', live, now, feed)
  end
  return 'begun'
end
