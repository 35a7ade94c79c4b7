-- Pushes posts to feeds of one bucket, if the feed is live and its reader has not unfollowed the author. A full server
-- refuses the call, except for the author's own feeds: such a feed is dropped, because its next reader must see the post.
--
-- KEYS  1 live, 2 memory, then for each post rel of its author, then the feeds of the first post, of
--       the second, and so on
-- ARGV  1 full, 2 keep (see `trim`), then for each post
--       1 score, 2 member, 3 number of feeds, 4 '1' to check their lengths, else '0',
--       5 the pointer to add with it ('': none),
--       6 how the feeds were chosen: '*' (relations are not checked), the time in ms at which the
--         followers were read (less the difference of clocks), or the memory that the server had before
--         they were read
-- Returns for each post {delivered, not live, unfollowed}. If the memory does not reach back to the time at
--       which the followers were read, nothing is pushed: {memory, not live, indexes of the live feeds},
--       from 0. The server may have forgotten an unfollow, so the caller must read these relations again
local call, keys, argv = redis.call, KEYS, ARGV
local posts = (#argv - 2) / 6
local full, keep = tonumber(argv[1]), tonumber(argv[2])
local memory = call('GET', keys[2])
local since = memory and tonumber(string.match(memory, ':(%d+):') or math.huge)
local first = 2 + posts -- the index of the last key before the feeds of a post
local live = memory and call('ZMSCORE', keys[1], unpack(keys, first + 1))
local seen = 0 -- the index of the last answer before the feeds of a post

-- Returns the remembered relations of these feeds' readers to an author, or false if there are none.
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
    answers[post] = { 0, count, 0 } -- all data is lost: no feed is shown before its rebuild
  -- mutation: push-memory
  elseif chosen ~= '*' and chosen ~= memory and (tonumber(chosen) or -1) < since then
    local absent, places = 0, {}
    for i = 1, count do
      if live[seen + i] then
        places[#places + 1] = i - 1
      else
        absent = absent + 1
      end
    end
    answers[post] = { memory, absent, places }
  else
    -- mutation: push-unfollows
    local rel = chosen ~= '*' and relations(keys[2 + post], first, count)
    local put = chosen == '*' and redis.pcall or call
    local delivered, absent, unfollowed = 0, 0, 0
    for i = 1, count do
      if not live[seen + i] then
        absent = absent + 1
      elseif rel and rel[i + 1] and tonumber(rel[i + 1]) < 0 then
        unfollowed = unfollowed + 1
      else
        local feed = keys[first + i]
        local added
        -- mutation: push-pointer
        if pointer == '' then
          added = put('ZADD', feed, score, member)
        else
          added = put('ZADD', feed, score, member, '-inf', 'L', '-inf', pointer)
        end
        if type(added) == 'table' then -- refused
          drop(keys[1], feed)
          absent = absent + 1
        else
          if look then
            trim(feed, full, keep)
          end
          delivered = delivered + 1
        end
      end
    end
    answers[post] = { delivered, absent, unfollowed }
  end
  first, seen = first + count, seen + count
end
return answers
