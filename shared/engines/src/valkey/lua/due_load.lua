-- Adds entries that were read from DynamoDB, and notes up to what time the part is complete with them.
--
-- KEYS  1 due, 2 horizon
-- ARGV  1 the token of the part, 2 the time up to which the part is complete, in ms; then for each entry: the entry, its
--       score: its time in ms, or the end of a lease if its message is under way
-- Returns 'done', or 'lost' if the part has begun again
local gen = generation()
if not gen then
  return READ_ONLY
end
local token, complete, pending = horizon_of(KEYS[2], gen)
-- mutation: due-token
if token ~= ARGV[1] then
  return 'lost'
end
for i = 3, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], 'NX', ARGV[i + 1], ARGV[i])
end
set_horizon(KEYS[2], gen, token, math.max(complete, tonumber(ARGV[2])), pending)
return 'done'
