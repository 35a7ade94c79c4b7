-- Records a change of a reader's relation to an author and brings the reader's feed in line,
-- unless a later change is recorded already (on a tie the unfollow wins).
--
-- KEYS  1 live, 2 the reader's feed, 3 rel of the author
-- ARGV  1 the feed's member in `live`, 2 the user, 3 time of the change in ms, negative for an
--       unfollow, 4 how long rel is kept in ms, 5 cap, 6 keep,
--       7 how members of this author end, 8 score down to which the backfill is complete,
--       9.. for each backfilled entry: score, member
-- Returns {'stale' | 'absent' | 'done', entries removed or offered}
local at = tonumber(ARGV[3])
local kept = redis.call('ZSCORE', KEYS[3], ARGV[2])
if kept then
  local known = tonumber(kept)
  if math.abs(known) > math.abs(at) or (known == -at and known < 0) then
    return {'stale', 0}
  end
end
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
-- a key that is kept alive by ever new changes forgets the old ones all the same
local old = math.abs(at) - tonumber(ARGV[4])
if old > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], string.format('%d', -old), string.format('%d', old))
end
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return {'absent', 0}
end
local count = 0
if at < 0 then
  for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    if #member == 16 and string.sub(member, 9) == ARGV[7] then
      count = count + redis.call('ZREM', KEYS[2], member)
    end
  end
  return {'done', count}
end
local floor = redis.call('ZSCORE', KEYS[2], 'F')
for i = 9, #ARGV, 2 do
  if not floor or tonumber(ARGV[i]) < tonumber(floor) then
    redis.call('ZADD', KEYS[2], ARGV[i], ARGV[i + 1])
    count = count + 1
  end
end
if tonumber(ARGV[8]) < 0 then
  raise_floor(KEYS[2], ARGV[8])
end
trim(KEYS[2], tonumber(ARGV[5]), tonumber(ARGV[6]))
return {'done', count}
