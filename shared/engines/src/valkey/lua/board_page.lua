-- Reads members that follow each other, best first.
--
-- KEYS  the four keys of the board
-- ARGV  1 the kind of ranks, 2 the number of bytes of encoded scores, 3 what is read:
--       'rank'        from the first member with this rank or a greater one: 4 the rank, 5 the most members
--       'around'      a member and its neighbours: 4 the member, 5 how many above it, 6 how many below it
--       'between'     members between two bounds: 4 and 5 the bounds, 6 how many are left out, 7 the most members
--       'percentile'  the member at a percentile, counted from the worst (nearest rank): 4 the percentile in hundredths
-- Returns {'ready', the number of members, the number of members between the bounds, the position of the first member that is
-- read (from 1) and its rank, which are 0 if there is none, and a list of the members}; or {'unknown'} if the member is not on the board, {'building'} or {'missing'}
local gen = generation()
if not gen then
  return READ_ONLY
end
local kind, width, what = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local state = redis.call('HMGET', KEYS[2], '', what == 'around' and ARGV[4] or '')
local is_ready, answer = state_of(state[1], gen)
if not is_ready then
  return { answer }
end
if is_lost(kind == 'dense') then
  return { 'missing' }
end
local count = redis.call('ZCARD', KEYS[1]) - 1
local counted = count
-- The position of the first member that is read, and the number of members.
local first, most = 1, 0
if what == 'rank' then
  local rank = tonumber(ARGV[4])
  first, most = rank, tonumber(ARGV[5])
  if kind == 'dense' then
    local scores = redis.call('ZRANGE', KEYS[3], rank, rank)[1]
    first = scores and rank_of('competition', scores) or count + 1
  elseif kind == 'competition' and rank > 1 and rank <= count then
    local two = redis.call('ZRANGE', KEYS[1], rank - 1, rank)
    local scores = string.sub(two[2], 1, width)
    if scores == string.sub(two[1], 1, width) then
      first = redis.call('ZLEXCOUNT', KEYS[1], '-', '(' .. scores .. '\255')
    end
  end
elseif what == 'around' then
  local scores = string.sub(state[2] or '', 9)
  if scores == '' then
    return { 'unknown' }
  end
  local place = redis.call('ZRANK', KEYS[1], scores .. ARGV[4])
  -- mutation: board-around
  first = math.max(1, place - ARGV[5])
  most = place - first + 1 + ARGV[6]
elseif what == 'between' then
  counted = redis.call('ZLEXCOUNT', KEYS[1], '[' .. ARGV[4], '(' .. ARGV[5])
  first = rank_of('competition', ARGV[4]) + ARGV[6]
  most = math.min(ARGV[7], counted - ARGV[6])
elseif what == 'percentile' then
  first = count - math.max(1, math.ceil(ARGV[4] * count / 10000)) + 1
  most = 1
else
  return { 'unknown request' }
end
local members = {}
if most > 0 and first <= count and count > 0 then
  members = redis.call('ZRANGE', KEYS[1], first, first + most - 1)
end
if #members == 0 then
  return { 'ready', count, counted, 0, 0, members }
end
local rank = first
if kind ~= 'ordinal' then
  rank = rank_of(kind, string.sub(members[1], 1, width))
end
return { 'ready', count, counted, first, rank, members }
