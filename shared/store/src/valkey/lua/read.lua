-- Reads a page of a feed, newest first, and notes that it was read.
--
-- KEYS  1 live, 2 memory, 3 the feed, 4 its lock, if a rebuild is to begin where there is nothing to
--       show
-- ARGV  1 now in ms, 2 how old the note may be (-1: leave no note), 3 the score to begin at (or
--       -inf), 4 how many members, 5 the time of a new memory in ms, 6 token of the rebuild, 7 lease in ms
-- Returns {3} if a rebuild was begun, {4} if another one is at work, {0} if the feed is not live, {1}
--       if nothing may be shown of it (it is being rebuilt, or was begun in another memory), else {2, score of the floor, members above the floor}: of
--       those at the score to begin at all, and of the others as many as were asked for; and a fourth
--       list if the feed has pointers, with them
local gen = generation()
if not gen then
  return READ_ONLY
end
local function nothing(state)
  if not KEYS[4] then
    return { state }
  end
  local begun = begin(gen, KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[5], ARGV[6], ARGV[7])
  return { begun == 'begun' and 3 or 4 }
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
if not floor or not marks[2] then
  return nothing(1)
end
local age = tonumber(ARGV[2])
if age >= 0 and tonumber(ARGV[1]) - tonumber(seen) > age then
  -- a server that is full refuses, and the page is shown all the same
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
