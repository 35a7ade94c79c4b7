-- Pushes posts to those feeds of one bucket that are live and whose reader has not unfollowed the
-- author.
--
-- KEYS  1 live, 2 memory, then for each post rel of its author, then the feeds of the first post, of
--       the second, and so on
-- ARGV  1 full, 2 keep (see `trim`), then for each post
--       1 score, 2 member, 3 how many feeds, 4 whether their lengths are looked at ('1'),
--       5 the pointer to leave with it ('': none),
--       6 what the feeds were chosen by: '*' (no relation is asked for), the time in ms at which the
--         followers were read (less what clocks may differ), or the memory that the server had before
--         they were read
-- Returns for each post {delivered, not live, unfollowed}, or the memory if it does not reach back
--       that far: an unfollow since may be forgotten, and the followers must be read again
local call, keys, argv = redis.call, KEYS, ARGV
local posts = (#argv - 2) / 6
local full, keep = tonumber(argv[1]), tonumber(argv[2])
local memory = call('GET', keys[2])
local since = memory and tonumber(string.match(memory, ':(%d+):') or math.huge)
local first = 2 + posts -- the place of the last key before the feeds of a post
local live = memory and call('ZMSCORE', keys[1], unpack(keys, first + 1))
local seen = 0 -- the place of the last answer before the feeds of a post

-- The relations of these feeds' readers to an author, if any has changed lately.
local function relations(key, from, count)
  if call('EXISTS', key) == 0 then
    return false
  end
  local users = { 'M' .. memory }
  for i = 1, count do
    users[i + 1] = string.sub(keys[from + i], -16)
  end
  local rel = call('ZMSCORE', key, unpack(users))
  return rel[1] and rel
end

local answers = {}
for post = 1, posts do
  local at = 2 + (post - 1) * 6
  local score, member, count = argv[at + 1], argv[at + 2], tonumber(argv[at + 3])
  local look, pointer, chosen = argv[at + 4] == '1', argv[at + 5], argv[at + 6]
  if not memory then
    answers[post] = { 0, count, 0 } -- all was lost: nothing is shown before it is rebuilt
  elseif chosen ~= '*' and chosen ~= memory and (tonumber(chosen) or -1) < since then
    answers[post] = memory
  else
    local rel = chosen ~= '*' and relations(keys[2 + post], first, count)
    local delivered, absent, unfollowed = 0, 0, 0
    for i = 1, count do
      if not live[seen + i] then
        absent = absent + 1
      elseif rel and rel[i + 1] and tonumber(rel[i + 1]) < 0 then
        unfollowed = unfollowed + 1
      else
        local feed = keys[first + i]
        if pointer == '' then
          call('ZADD', feed, score, member)
        else
          call('ZADD', feed, score, member, '-inf', 'L', '-inf', pointer)
        end
        if look then
          trim(feed, full, keep)
        end
        delivered = delivered + 1
      end
    end
    answers[post] = { delivered, absent, unfollowed }
  end
  first, seen = first + count, seen + count
end
return answers
