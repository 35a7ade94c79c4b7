-- Pushes one post to those feeds of one bucket that are live and whose reader has not
-- unfollowed its author.
--
-- KEYS  1 live, 2 rel of the author, 3.. the feeds
-- ARGV  1 score, 2 member, 3 cap, 4 keep (where a trim cuts back to),
--       5.. for each feed its member in `live`: 'h' or 'a', and the user
-- Returns {delivered, not live, unfollowed}
local score, member = ARGV[1], ARGV[2]
local cap, keep = tonumber(ARGV[3]), tonumber(ARGV[4])
local feeds = #KEYS - 2
local live = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 5))
local rel = false
if redis.call('EXISTS', KEYS[2]) == 1 then
  local users = {}
  for i = 1, feeds do
    users[i] = string.sub(ARGV[4 + i], 2)
  end
  rel = redis.call('ZMSCORE', KEYS[2], unpack(users))
end
local delivered, absent, unfollowed = 0, 0, 0
for i = 1, feeds do
  if not live[i] then
    absent = absent + 1
  elseif rel and rel[i] and tonumber(rel[i]) < 0 then
    unfollowed = unfollowed + 1
  else
    redis.call('ZADD', KEYS[2 + i], score, member)
    trim(KEYS[2 + i], cap, keep)
    delivered = delivered + 1
  end
end
return {delivered, absent, unfollowed}
