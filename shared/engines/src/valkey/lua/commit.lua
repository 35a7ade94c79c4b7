-- Commits a rebuild: adds all entries and the floor. Posts that were pushed during the rebuild stay. Entries of
-- authors whom the reader has unfollowed since are left out.
--
-- KEYS  1 live, 2 memory, 3 the feed, 4 its lock, 5.. rel of each author that has entries
-- ARGV  1 the user, 2 token, 3 score of the floor, 4 full, 5 keep (see `trim`),
--       6 the entries, packed (see `entry`), 7 for each entry the index of its author among the rel keys
--       (from 1, two bytes), 8 the pointers (nine bytes each), 9 for each pointer the index of its author
-- Returns 'done', or 'lost' if the lease has ended or the feed is no longer the one that this rebuild began
local gen = generation()
if not gen then
  return READ_ONLY
end
-- mutation: commit-lease
if redis.call('GET', KEYS[4]) ~= ARGV[2] then
  return 'lost'
end
redis.call('DEL', KEYS[4])
local memory = memory_of(KEYS[2], gen)
-- mutation: commit-live
if not memory or not redis.call('ZSCORE', KEYS[3], 'M' .. memory)
  or not redis.call('ZSCORE', KEYS[1], KEYS[3]) then
  return 'lost'
end
local left_out = {}
for i = 5, #KEYS do
  local rel = redis.call('ZMSCORE', KEYS[i], ARGV[1], 'M' .. memory)
  -- mutation: commit-unfollows
  left_out[i - 4] = rel[2] and rel[1] and tonumber(rel[1]) < 0
end
-- Whether the author of the nth entry of a list is left out.
local function is_out(places, nth)
  local high, low = string.byte(places, nth * 2 + 1, nth * 2 + 2)
  return left_out[high * 256 + low]
end
for nth = 0, #ARGV[6] / 16 - 1 do
  if not is_out(ARGV[7], nth) then
    local member, score = entry(ARGV[6], nth)
    redis.call('ZADD', KEYS[3], score, member)
  end
end
for nth = 0, #ARGV[8] / 9 - 1 do
  if not is_out(ARGV[9], nth) then
    local pointer = string.sub(ARGV[8], nth * 9 + 1, nth * 9 + 9)
    redis.call('ZADD', KEYS[3], '-inf', 'L', '-inf', pointer)
  end
end
local floor = ARGV[3]
local pending = redis.call('ZSCORE', KEYS[3], 'P')
if pending then
  -- mutation: commit-floor
  if tonumber(pending) < tonumber(floor) then
    floor = pending
  end
  redis.call('ZREM', KEYS[3], 'P')
end
redis.call('ZADD', KEYS[3], floor, 'F')
trim(KEYS[3], tonumber(ARGV[4]), tonumber(ARGV[5]))
return 'done'
