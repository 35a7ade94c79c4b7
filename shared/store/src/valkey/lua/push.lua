-- Pushes one post to those feeds of one bucket that are live and whose reader has not
-- unfollowed its author.
--
-- KEYS  1 live, 2 memory, 3 rel of the author, 4.. the feeds
-- ARGV  1 score, 2 member, 3 cap, 4 keep (where a trim cuts back to),
--       5 what the feeds were chosen by: '*' (no relation is asked for), the time in ms at which
--         the followers were read (less what clocks may differ), or the memory that the server had
--         before they were read,
--       6.. for each feed its member in `live`: 'h' or 'a', and the user
-- Returns {delivered, not live, unfollowed}, or the memory if it does not reach back that far: an
--       unfollow since may be forgotten, and the followers must be read again
local feeds = #KEYS - 3
local memory = redis.call('GET', KEYS[2])
if not memory then
  return { 0, feeds, 0 } -- all was lost: nothing is shown before it is rebuilt
end
if ARGV[5] ~= '*' and ARGV[5] ~= memory then
  local known = tonumber(ARGV[5])
  if not known or known < tonumber(string.match(memory, ':(%d+)$')) then
    return memory
  end
end
local score, member = ARGV[1], ARGV[2]
local cap, keep = tonumber(ARGV[3]), tonumber(ARGV[4])
local live = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 6))
local rel = false
if redis.call('EXISTS', KEYS[3]) == 1 then
  local users = {}
  for i = 1, feeds do
    users[i] = string.sub(ARGV[5 + i], 2)
  end
  users[feeds + 1] = 'M' .. memory
  rel = redis.call('ZMSCORE', KEYS[3], unpack(users))
  rel = rel[feeds + 1] and rel
end
local delivered, absent, unfollowed = 0, 0, 0
for i = 1, feeds do
  if not live[i] then
    absent = absent + 1
  elseif rel and rel[i] and tonumber(rel[i]) < 0 then
    unfollowed = unfollowed + 1
  else
    redis.call('ZADD', KEYS[3 + i], score, member)
    trim(KEYS[3 + i], cap, keep)
    delivered = delivered + 1
  end
end
return { delivered, absent, unfollowed }
