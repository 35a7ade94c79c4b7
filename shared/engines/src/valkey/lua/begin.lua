-- Begins a rebuild. See the function `begin`.
--
-- KEYS  1 live, 2 memory, 3 the feed, 4 its lock
-- ARGV  1 now in ms, 2 the time of a new memory in ms, 3 token of this rebuild,
--       4 length of the lease in ms
-- Returns 'busy', 'built' or 'begun'
local gen = generation()
if not gen then
  return READ_ONLY
end
local begun = begin(gen, KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return begun == 'full' and { err = 'OOM no room for a rebuild' } or begun
