-- Functions that the scripts of boards share. This file and _memory.lua are put in front of each of them.
--
-- A board has four keys in one slot. Their order in KEYS is the same for all scripts:
--   1 board:{b}:<id>           a sorted set of the members: the encoded scores and the name, all with score 0, best first.
--                              Its first member is '', so the place of a member is its position from 1.
--   2 board:scores:{b}:<id>    a hash: the name of a member -> its revision (8 bytes) and its encoded scores; for a member
--                              that was removed or fell out, the revision alone. The field '' is the state of the board.
--   3 board:distinct:{b}:<id>  a sorted set of the encoded scores that members have, each once, all with score 0; its first
--                              member is ''. Only a board with dense ranks has scores in it.
--   4 board:removed:{b}:<id>   a sorted set of the members of which 2 has the revision alone, with the time in ms at which
--                              they were removed. A member that has come back may still be in it.
--
-- Encoded scores have 8 bytes each. Lower bytes are better, so scripts compare scores without knowing their values. No
-- script does arithmetic with scores, because numbers in Lua are not exact above 2^53.
--
-- The state is 'R:<generation>:<token>' while the board is ready, and 'B:<generation>:<until>:<token>' while it is built.
-- <until> is the end of the lease of the rebuild, in ms. The token is that of the rebuild. The generation is that of the
-- server (see _memory.lua). After a fail-over or a loss of data, it or the key differs, and the board is missing.
--
-- DynamoDB has all of it. No key has a time to live, so a full server does not evict it before the keys that have one. If
-- 1, 2, or 3 of a dense board is lost alone, the board is missing: each has a member that marks it. If 4 is lost,
-- revisions of removed members stay in 2 until the board is rebuilt.

local MISSING = { 'missing' }
local BUILDING = { 'building' }

-- Returns whether the board is ready, of this generation and with all its keys, from its state. If it is not, returns the
-- answer for the caller, and the end of the lease and the token if it is built.
local function state_of(state, gen)
  if not state then
    return false, MISSING
  end
  -- mutation: board-generation
  if string.sub(state, 3, #gen + 3) ~= gen .. ':' then
    return false, MISSING
  end
  -- mutation: board-building
  if string.sub(state, 1, 1) == 'R' then
    return true
  end
  local lease, token = string.match(state, '^(%d+):(.*)$', #gen + 4)
  return false, BUILDING, tonumber(lease), token
end

-- Returns whether a sorted set of the board is lost: each has at least the member ''. Only a dense board needs the scores.
local function is_lost(is_dense)
  -- mutation: board-lost-key
  return redis.call('ZCARD', KEYS[1]) == 0 or is_dense and redis.call('ZCARD', KEYS[3]) == 0
end

-- Returns whether a revision is greater than another one. Both have 8 bytes, of which 4 are an exact number.
local function is_newer(revision, known)
  local high, low = struct.unpack('>I4I4', revision)
  local known_high, known_low = struct.unpack('>I4I4', known)
  return high > known_high or high == known_high and low > known_low
end

-- The bound above all members with these scores: no byte of a name is 255.
local function above(scores)
  return '(' .. scores .. '\255'
end

-- Removes a member with these scores from the sorted sets.
local function take_out(member, scores, is_dense)
  redis.call('ZREM', KEYS[1], scores .. member)
  if is_dense then
    local others = redis.call('ZRANGE', KEYS[1], '[' .. scores, above(scores), 'BYLEX', 'LIMIT', 0, 1)
    -- mutation: board-distinct
    if #others == 0 then
      redis.call('ZREM', KEYS[3], scores)
    end
  end
end

-- Applies a change of a member, unless the known value has the same or a newer revision. Without scores, the member is
-- removed. Returns the value that is known then, and whether the member was removed.
local function apply(member, known, revision, scores, is_dense, now)
  -- mutation: board-revision
  if known and not is_newer(revision, known) then
    return known, false
  end
  local before = known and string.sub(known, 9) or ''
  if before ~= scores then
    if before ~= '' then
      take_out(member, before, is_dense)
    end
    if scores ~= '' then
      redis.call('ZADD', KEYS[1], 0, scores .. member)
      if is_dense then
        redis.call('ZADD', KEYS[3], 0, scores)
      end
    end
  end
  if scores == '' then
    redis.call('ZADD', KEYS[4], now, member)
  end
  local value = revision .. scores
  -- mutation: board-removed
  redis.call('HSET', KEYS[2], member, value)
  return value, scores == ''
end

-- Removes the worst members above the limit, at most `most`. A limit of 0 is none. Returns them, the best first, and how
-- many remain above the limit.
local function trim(limit, most, width, is_dense, now)
  local over = limit > 0 and redis.call('ZCARD', KEYS[1]) - 1 - limit or 0
  if over <= 0 then
    return {}, 0
  end
  local out = redis.call('ZRANGE', KEYS[1], -math.min(over, most), -1)
  for i = 1, #out do
    local scores, member = string.sub(out[i], 1, width), string.sub(out[i], width + 1)
    take_out(member, scores, is_dense)
    -- mutation: board-trim
    local value = redis.call('HGET', KEYS[2], member)
    redis.call('HSET', KEYS[2], member, string.sub(value, 1, 8))
    redis.call('ZADD', KEYS[4], now, member)
  end
  return out, over - #out
end

-- Forgets members that were removed before a time, at most `most`.
local function forget(before, most)
  local old = redis.call('ZRANGE', KEYS[4], '-inf', before, 'BYSCORE', 'LIMIT', 0, most)
  for i = 1, #old do
    local value = redis.call('HGET', KEYS[2], old[i])
    -- mutation: board-forget
    if value and #value == 8 then
      redis.call('HDEL', KEYS[2], old[i])
    end
    redis.call('ZREM', KEYS[4], old[i])
  end
end

-- The number of members with better scores, plus one: the first member of the set, '', counts.
local function competition(scores)
  return redis.call('ZLEXCOUNT', KEYS[1], '-', '(' .. scores)
end

-- The rank of a member of the board. `kind` is 'competition', 'dense' or 'ordinal'.
local function rank_of(kind, scores, member)
  if kind == 'ordinal' then
    return redis.call('ZRANK', KEYS[1], scores .. member)
  end
  if kind == 'dense' then
    return redis.call('ZLEXCOUNT', KEYS[3], '-', '(' .. scores)
  end
  return competition(scores)
end
