-- Begins a rebuild: takes the lease and makes the feed live, empty and without a floor, so that
-- what is pushed from now on lands in it.
--
-- KEYS  1 live, 2 memory, 3 the feed, 4 its lock
-- ARGV  1 now in ms, 2 token of this rebuild, 3 lease in ms
-- Returns 'busy' if another rebuild is at work, 'built' if there is nothing to do, else 'begun'
local gen = generation()
if not gen then
  return READ_ONLY
end
if not redis.call('SET', KEYS[4], ARGV[2], 'NX', 'PX', ARGV[3]) then
  if redis.call('GET', KEYS[4]) ~= ARGV[2] then
    return 'busy'
  end
  redis.call('PEXPIRE', KEYS[4], ARGV[3]) -- the lease was handed on
end
local memory = memory_of(KEYS[2], gen)
if not memory then
  memory = gen .. ':' .. ARGV[1]
  redis.call('SET', KEYS[2], memory)
end
local live = redis.call('ZSCORE', KEYS[1], KEYS[3])
if live and redis.call('ZSCORE', KEYS[3], 'M' .. memory) then
  if redis.call('ZSCORE', KEYS[3], 'F') then
    redis.call('DEL', KEYS[4])
    return 'built'
  end
  return 'begun'
end
redis.call('DEL', KEYS[3])
redis.call('ZADD', KEYS[3], '-inf', 'M' .. memory)
if not live then
  redis.call('ZADD', KEYS[1], ARGV[1], KEYS[3])
end
return 'begun'
