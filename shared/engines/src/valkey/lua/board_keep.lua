-- Keeps a board for longer, and notes it in the list of its bucket.
--
-- KEYS  the four keys of the board, 5 boards:{b}, the list of the boards of its bucket, by the time at which they were noted
-- ARGV  1 the time to live of the board in ms, 2 its name in the list or nothing, 3 now in ms, 4 the time to live of the list and of its
--       members in ms
-- Returns 'done'
for i = 1, 4 do
  redis.call('PEXPIRE', KEYS[i], ARGV[1])
end
-- a board that is still used was noted again since
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', ARGV[3] - ARGV[4])
if ARGV[2] ~= '' then
  -- mutation: board-noted
  redis.call('ZADD', KEYS[5], ARGV[3], ARGV[2])
  redis.call('PEXPIRE', KEYS[5], ARGV[4])
end
return 'done'
