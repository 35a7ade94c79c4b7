-- Begins to load a part up to a time. From then on, writers add entries up to that time. If nothing valid is known of the
-- part, begins with an empty one.
--
-- KEYS  1 due, 2 horizon
-- ARGV  1 a token, unique to this load; 2 the time up to which is loaded, in ms
-- Returns the token of the part, and the time up to which it is complete, in ms
local gen = generation()
if not gen then
  return READ_ONLY
end
local token, complete, pending = horizon_of(KEYS[2], gen)
if not token then
  redis.call('UNLINK', KEYS[1])
  token, complete, pending = ARGV[1], 0, 0
end
-- mutation: due-begun
set_horizon(KEYS[2], gen, token, complete, math.max(pending, tonumber(ARGV[2])))
return { token, complete }
