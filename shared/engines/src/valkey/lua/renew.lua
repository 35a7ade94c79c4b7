-- Begins a new memory of a bucket, by an operator's order. From then on, all present feeds and relations are
-- ignored, as if all data were lost.
--
-- KEYS  1 memory
-- ARGV  1 the time of the new memory in ms, 2 a token, unique to this memory
-- Returns 'done'
local gen = generation()
if not gen then
  return READ_ONLY
end
-- a full server takes a write only after a command that frees memory
redis.call('DEL', KEYS[1])
-- mutation: memory-renewed
redis.call('SET', KEYS[1], gen .. ':' .. ARGV[1] .. ':' .. ARGV[2] .. gen)
return 'done'
