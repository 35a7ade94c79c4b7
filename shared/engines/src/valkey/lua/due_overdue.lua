-- Adds overdue entries that were found in DynamoDB and are not there. An entry whose lease is longer than any that the
-- caller could give has its own time again: the lease is from a look-ahead whose clock was ahead.
--
-- KEYS  1 due
-- ARGV  1 the latest end of a lease; then for each entry: the entry, its time in ms
-- Returns the number of entries that were added, or lost a lease
local changed = 0
for i = 2, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  -- mutation: due-long-lease
  if not score or tonumber(score) > tonumber(ARGV[1]) then
    redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i])
    changed = changed + 1
  end
end
return changed
