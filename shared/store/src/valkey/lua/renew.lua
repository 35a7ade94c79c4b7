-- Begins a new memory of a bucket, by an operator's order: no feed and no relation of before is believed
-- any more, as if all had been lost.
--
-- KEYS  1 memory
-- ARGV  1 the time of the new memory in ms, 2 a token that no other memory has
-- Returns 'done'
local gen = generation()
if not gen then
  return READ_ONLY
end
-- a server that is full takes a write only after one that makes room
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], gen .. ':' .. ARGV[1] .. ':' .. ARGV[2])
return 'done'
