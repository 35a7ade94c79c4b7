-- Takes entries that are due, soonest first. A taken entry stays, and is due again when the caller's lease ends.
--
-- KEYS  1 due, 2 horizon
-- ARGV  1 the latest score that is taken, 2 the most entries, 3 the score until which the caller has the lease
-- Returns the time up to which the part is complete in ms, or -1 if nothing valid is known; then the entries
local gen = generation()
if not gen then
  return READ_ONLY
end
local token, complete = horizon_of(KEYS[2], gen)
if not token then
  return { -1 }
end
local taken = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
for i = 1, #taken do
  -- mutation: due-lease
  redis.call('ZADD', KEYS[1], 'XX', ARGV[3], taken[i])
end
table.insert(taken, 1, complete)
return taken
