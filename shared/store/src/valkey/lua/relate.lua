-- Records a change of a reader's relation to an author and brings the reader's feed in line,
-- unless a later change is recorded already (on a tie the unfollow wins).
--
-- A follow takes two calls: one without a backfill, which records it, so that pushes land from then
-- on, and one with what was read after that. Read before, it could miss a post whose push was still
-- left out.
--
-- KEYS  1 live, 2 memory, 3 the reader's feed, 4 rel of the author, 5 rels
-- ARGV  1 the user, 2 time of the change in ms, negative for an unfollow, 3 how long a change is kept at
--       the least in ms, 4 full, 5 keep (see `trim`), 6 the memory that the server had before the relation was
--       read (or ''), 7 how members of this author end, 8 score down to which the backfill is
--       complete ('': there is none), 9 the pointer to this author, 10 whether it is left ('1'),
--       11 the backfilled entries, packed (see `entry`)
-- Returns {'again' | 'stale' | 'absent' | 'recorded' | 'done', entries removed or offered}; again:
--       the server remembers less than it did, so the relation must be read again; recorded: the
--       backfill is wanted
local memory = redis.call('GET', KEYS[2]) or ''
if memory ~= ARGV[6] then
  return { 'again', 0 }
end
if memory == '' then
  return { 'absent', 0 } -- all was lost: nothing is shown before it is rebuilt
end
local at = tonumber(ARGV[2])
if not redis.call('ZSCORE', KEYS[4], 'M' .. memory) then
  redis.call('DEL', KEYS[4]) -- of an older memory: a later change may be missing
  redis.call('ZADD', KEYS[4], '+inf', 'M' .. memory)
end
local kept = redis.call('ZSCORE', KEYS[4], ARGV[1])
if kept then
  local known = tonumber(kept)
  if math.abs(known) > math.abs(at) or (known == -at and known < 0) then
    return { 'stale', 0 }
  end
end
redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
-- the key has no time to live, since pushes rely on it: the sweep drops it by this list
redis.call('ZADD', KEYS[5], 'GT', math.abs(at), KEYS[4])
-- a key that changes again and again forgets its old changes here
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
  raise_floor(KEYS[3], ARGV[8])
end
trim(KEYS[3], tonumber(ARGV[4]), tonumber(ARGV[5]))
return { 'done', count }
