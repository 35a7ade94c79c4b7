-- Records a change of a reader's relation to an author, and adds or removes the author's entries in the
-- reader's feed. Does nothing if a later change is recorded already (on a tie the unfollow wins).
--
-- A follow takes two calls. The first, without a backfill, records the follow, so that later pushes reach the
-- feed. The second brings the backfill, which was read after the first call. A backfill that was read earlier
-- could miss a post whose push was left out because of an earlier unfollow.
--
-- A full server has no room for the change. The feed is dropped, so that its next reader sees the change, and the change is
-- recorded in its place, so that no late push undoes it.
--
-- KEYS  1 live, 2 memory, 3 the reader's feed, 4 rel of the author, 5 rels
-- ARGV  1 the user, 2 time of the change in ms, negative for an unfollow, 3 least time in ms for which a
--       change is kept, 4 full, 5 keep (see `trim`), 6 the memory that the server had before the relation was
--       read (or ''), 7 the last bytes of this author's members, 8 score down to which the backfill is
--       complete ('': no backfill), 9 the pointer to this author, 10 '1' to add it, else '0',
--       11 the backfilled entries, packed (see `entry`)
-- Returns {word, number of entries that were removed or written}. Words:
--       'again'     the server has another memory now, so the relation must be read again
--       'stale'     a later change is recorded
--       'absent'    the feed is not live
--       'recorded'  the follow is recorded, and the backfill must be read
--       'done'      the entries were removed or written (also those that were there already)
local memory = redis.call('GET', KEYS[2]) or ''
-- mutation: relation-memory
if memory ~= ARGV[6] then
  return { 'again', 0 }
end
if memory == '' then
  return { 'absent', 0 } -- all data is lost: no feed is shown before its rebuild
end
local at = tonumber(ARGV[2])
if not redis.call('ZSCORE', KEYS[4], 'M' .. memory) then
  redis.call('DEL', KEYS[4]) -- it began in an older memory, so later changes may be missing
  redis.call('ZADD', KEYS[4], '+inf', 'M' .. memory)
end
local kept = redis.call('ZSCORE', KEYS[4], ARGV[1])
if kept then
  local known = tonumber(kept)
  -- mutation: relation-order
  if math.abs(known) > math.abs(at) or (known == -at and known < 0) then
    return { 'stale', 0 }
  end
end
local recorded = redis.pcall('ZADD', KEYS[4], ARGV[2], ARGV[1])
if type(recorded) == 'table' then
  -- mutation: relation-full
  drop(KEYS[1], KEYS[3])
  redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
end
-- the key has no time to live, because pushes depend on it; the sweep finds it in this list
redis.call('ZADD', KEYS[5], 'GT', math.abs(at), KEYS[4])
-- old changes are removed here, for keys that change too often for the sweep
local old = math.abs(at) - tonumber(ARGV[3])
if old > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[4], string.format('%d', -old), string.format('%d', old))
end
if not redis.call('ZSCORE', KEYS[1], KEYS[3]) then
  return { 'absent', 0 }
end
local count = 0
if at < 0 then
  for _, member in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    if #member == 16 and string.sub(member, 9) == ARGV[7] then
      -- mutation: unfollow-entries
      count = count + redis.call('ZREM', KEYS[3], member)
    end
  end
  redis.call('ZREM', KEYS[3], ARGV[9])
  return { 'done', count }
end
if ARGV[8] == '' then
  return { 'recorded', 0 }
end
if ARGV[10] == '1' then
  redis.call('ZADD', KEYS[3], '-inf', 'L', '-inf', ARGV[9])
end
local floor = redis.call('ZSCORE', KEYS[3], 'F')
for nth = 0, #ARGV[11] / 16 - 1 do
  local member, score = entry(ARGV[11], nth)
  if not floor or tonumber(score) < tonumber(floor) then
    redis.call('ZADD', KEYS[3], score, member)
    count = count + 1
  end
end
if tonumber(ARGV[8]) < 0 then
  -- mutation: backfill-floor
  raise_floor(KEYS[3], ARGV[8])
end
trim(KEYS[3], tonumber(ARGV[4]), tonumber(ARGV[5]))
return { 'done', count }
