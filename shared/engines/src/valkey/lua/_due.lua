-- Functions that the scripts of due items share. This file and _memory.lua are put in front of each of them.
--
-- due:{p} is a sorted set of the entries of a part of the index of due items. The score of an entry is its time in ms; or
-- the end of a lease, while a look-ahead hands it on or its message is under way.
--
-- horizon:{p} says up to what time due:{p} is complete: '<generation>:<token>:<complete>:<pending>', times in ms. All
-- entries in DynamoDB with an earlier time than <complete> are in due:{p}. While a look-ahead loads later entries,
-- <pending> is the time up to which it loads; writers add entries up to that time, so that the load misses none. The
-- generation is that of the server (see _memory.lua). After a fail-over or a loss of data, it or the key differs, and a
-- look-ahead loads the entries again. The token is that of the first load, so that a load that is late, after the data
-- was lost, changes nothing.

-- Returns the token and the two times of a part, or false if nothing valid is known.
local function horizon_of(key, gen)
  local value = redis.call('GET', key)
  -- mutation: due-generation
  if not value or string.sub(value, 1, #gen + 1) ~= gen .. ':' then
    return false
  end
  local token, complete, pending = string.match(value, '^([^:]*):(%d+):(%d+)$', #gen + 2)
  if not token then
    return false
  end
  return token, tonumber(complete), tonumber(pending)
end

local function set_horizon(key, gen, token, complete, pending)
  redis.call('SET', key, string.format('%s:%s:%d:%d', gen, token, complete, pending))
end
