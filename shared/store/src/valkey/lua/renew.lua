-- Begins a new memory of a bucket, by an operator's order: no feed and no relation of before is believed
-- any more, as if all had been lost.
--
-- KEYS  1 memory
-- ARGV  1 now in ms, 2 a token that no other memory has
-- Returns 'done'
local gen = generation()
if not gen then
  return READ_ONLY
end
redis.call('SET', KEYS[1], gen .. ':' .. ARGV[1] .. ':' .. ARGV[2])
return 'done'
