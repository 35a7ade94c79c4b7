-- Reads a page of a feed, newest first, and notes the time of the read.
--
-- KEYS  1 live, 2 memory, 3 the feed, 4 its lock (only if a rebuild should begin when the feed cannot be
--       shown)
-- ARGV  1 now in ms, 2 the age in ms above which the note is renewed (-1: never), 3 the score to begin at
--       (or -inf), 4 the number of members, 5 the time of a new memory in ms, 6 token of the rebuild,
--       7 length of the lease in ms
-- Returns {0} if the feed is not live, {1} if it cannot be shown (it is being rebuilt, or began in another
--       memory), {3} if this call began a rebuild, {4} if another rebuild holds the lease, {5} if it cannot be
--       shown and the server has no room for a rebuild. Else
--       {2, score of the floor, members above the floor}: all members with the score to begin at, and as
--       many others as were requested. If the feed has pointers, they are a fourth value
local gen = generation()
if not gen then
  return READ_ONLY
end
local function nothing(state)
  if not KEYS[4] then
    return { state }
  end
  local begun = begin(gen, KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[5], ARGV[6], ARGV[7])
  return { begun == 'begun' and 3 or begun == 'full' and 5 or 4 }
end
local seen = redis.call('ZSCORE', KEYS[1], KEYS[3])
if not seen then
  return nothing(0)
end
local memory = memory_of(KEYS[2], gen)
if not memory then
  return nothing(1)
end
local marks = redis.call('ZMSCORE', KEYS[3], 'F', 'M' .. memory, 'L')
local floor = marks[1]
-- mutation: read-shown
if not floor or not marks[2] then
  return nothing(1)
end
local age = tonumber(ARGV[2])
if age >= 0 and tonumber(ARGV[1]) - tonumber(seen) > age then
  -- a full server takes the note after the removal, and the note takes no memory; else feeds that are read would look idle
  -- mutation: read-noted
  redis.call('ZREM', KEYS[1], '')
  redis.pcall('ZADD', KEYS[1], 'XX', 'GT', ARGV[1], KEYS[3])
end
local from, count = ARGV[3], tonumber(ARGV[4])
if from == '-inf' then
  from = '(-inf' -- without the memory
else
  count = count + redis.call('ZCOUNT', KEYS[3], from, from)
end
local above = redis.call('ZRANGE', KEYS[3], from, '(' .. floor, 'BYSCORE', 'LIMIT', 0, count)
if marks[3] then
  return { 2, floor, above, redis.call('ZRANGE', KEYS[3], '-inf', '-inf', 'BYSCORE') }
end
return { 2, floor, above }
