-- Adds entries of a part, after their commit. Entries from the horizon on are left out: a later load finds them.
--
-- KEYS  1 due, 2 horizon
-- ARGV  1.. for each entry: the entry, its time in ms, its score
-- Returns the number of added entries
local gen = generation()
if not gen then
  return READ_ONLY
end
local token, complete, pending = horizon_of(KEYS[2], gen)
if not token then
  return 0
end
local added = 0
for i = 1, #ARGV, 3 do
  -- mutation: due-pending
  if tonumber(ARGV[i + 1]) < math.max(complete, pending) then
    added = added + redis.call('ZADD', KEYS[1], 'NX', ARGV[i + 2], ARGV[i])
  end
end
return added
