-- Begins a rebuild: takes the lease and makes the feed live, empty and without a floor, so that
-- what is pushed from now on lands in it.
--
-- KEYS  1 live, 2 the feed, 3 its lock
-- ARGV  1 its member in `live`, 2 now in ms, 3 token of this rebuild, 4 lease in ms
-- Returns 'busy' if another rebuild is at work, 'built' if there is nothing to do, else 'begun'
if not redis.call('SET', KEYS[3], ARGV[3], 'NX', 'PX', ARGV[4]) then
  return 'busy'
end
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  redis.call('DEL', KEYS[2])
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
elseif redis.call('ZSCORE', KEYS[2], 'F') then
  redis.call('DEL', KEYS[3])
  return 'built'
end
return 'begun'
