-- Notes that the messages of taken entries are under way. An entry that is gone, or has another score than the caller's
-- lease, stays as it is: its message has arrived already, or somebody else has taken it.
--
-- KEYS  1 due
-- ARGV  1 the score of the caller's lease, 2 the new score; then the entries
-- Returns the number of noted entries
local noted = 0
for i = 3, #ARGV do
  -- mutation: due-own-lease
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or 0) == tonumber(ARGV[1]) then
    redis.call('ZADD', KEYS[1], 'XX', ARGV[2], ARGV[i])
    noted = noted + 1
  end
end
return noted
