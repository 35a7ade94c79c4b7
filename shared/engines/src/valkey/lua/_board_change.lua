-- Functions of the scripts that change members of a board (see _board.lua).

-- Removes a member with these scores from the sorted sets.
local function take_out(member, scores, is_dense)
  redis.call('ZREM', KEYS[1], scores .. member)
  if is_dense then
    -- no byte of a name is 255, so the second bound is above all members with these scores
    local others = redis.call('ZRANGE', KEYS[1], '[' .. scores, '(' .. scores .. '\255', 'BYLEX', 'LIMIT', 0, 1)
    -- mutation: board-distinct
    if #others == 0 then
      redis.call('ZREM', KEYS[3], scores)
    end
  end
end

-- Applies a change of a member, unless the known value has the same or a newer revision. Without scores, the member is
-- removed. Returns the value that is known then, by how much the number of members has grown, and whether the member was
-- removed. A revision has 8 bytes, and each 4 of them are an exact number.
local function apply(member, known, revision, scores, is_dense, now)
  local before = ''
  if known then
    local high, low = struct.unpack('>I4I4', revision)
    local known_high, known_low = struct.unpack('>I4I4', known)
    -- mutation: board-revision
    if high < known_high or high == known_high and low <= known_low then
      return known, 0, false
    end
    before = string.sub(known, 9)
  end
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
  return value, (before == '' and 0 or -1) + (scores == '' and 0 or 1), scores == ''
end

-- Removes the worst members, at most `most`, so that `over` fewer are left. Returns them, the best first. They have fallen
-- out, until their removal from DynamoDB is applied.
local function trim(over, most, width, is_dense, now)
  local out = redis.call('ZRANGE', KEYS[1], -math.min(over, most), -1)
  for i = 1, #out do
    local scores, member = string.sub(out[i], 1, width), string.sub(out[i], width + 1)
    take_out(member, scores, is_dense)
    local value = redis.call('HGET', KEYS[2], member)
    redis.call('HSET', KEYS[2], member, string.sub(value, 1, 8))
    redis.call('ZADD', KEYS[4], -now, member)
  end
  return out
end

-- Forgets members that were removed before a time, at most `most`.
local function forget(before, most)
  local old = redis.call('ZRANGE', KEYS[4], '(0', before, 'BYSCORE', 'LIMIT', 0, most)
  for i = 1, #old do
    local value = redis.call('HGET', KEYS[2], old[i])
    if value and #value == 8 then
      redis.call('HDEL', KEYS[2], old[i])
    end
    redis.call('ZREM', KEYS[4], old[i])
  end
end

-- Returns members that fell out and whose removal from DynamoDB is not applied yet, at most `most`, each followed by its
-- revision.
local function fallen(most)
  local members, list = redis.call('ZRANGE', KEYS[4], '-inf', '(0', 'BYSCORE', 'LIMIT', 0, most), {}
  for i = 1, #members do
    local value = redis.call('HGET', KEYS[2], members[i])
    if value and #value == 8 then
      list[#list + 1] = members[i]
      list[#list + 1] = value
    else
      redis.call('ZREM', KEYS[4], members[i]) -- it has come back
    end
  end
  return list
end
