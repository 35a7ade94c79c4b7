-- Functions that all scripts of boards share. This file and _memory.lua are put in front of each of them; _board_rank.lua
-- _board_change.lua and _board_keep.lua only where they are used, because each function costs 0.2 µs in each call.
--
-- A board has four keys in one slot. Their order in KEYS is the same for all scripts:
--   1 board:{b}:<id>           a sorted set of the members: the encoded scores and the name, all with score 0, best first.
--                              Its first member is '', so the place of a member is its position from 1.
--   2 board:scores:{b}:<id>    a hash: the name of a member -> its revision (8 bytes) and its encoded scores; for a member
--                              that was removed or fell out, the revision alone. The field '' is the state of the board.
--   3 board:distinct:{b}:<id>  a sorted set of the encoded scores that members have, each once, all with score 0; its first
--                              member is ''. Only a board with dense ranks has scores in it.
--   4 board:removed:{b}:<id>   a sorted set of the members of which 2 has the revision alone, with the time in ms at which
--                              they were removed. The time is negative for a member that fell out because of the limit, until
--                              its removal from DynamoDB is applied. A member that has come back may still be in it. Its last
--                              member is ''.
--
-- Encoded scores have 8 bytes each. Lower bytes are better, so scripts compare scores without knowing their values. No
-- script does arithmetic with scores, because numbers in Lua are not exact above 2^53.
--
-- The state is 'R:<generation>:<token>' while the board is ready, and '<who>:<generation>:<until>:<token>' while it is built.
-- <who> is 'B' if a request builds it, which soon ends; 'Q' if its rebuild has loaded nothing and its order waits in a queue;
-- and 'M' from the time on when a message with an order has arrived.
-- <until> is the end of the lease of the rebuild, in ms. The token is that of the rebuild. The generation is that of the
-- server (see _memory.lua). After a fail-over or a loss of data, it or the key differs, and the board is missing.
--
-- DynamoDB has all of it. All keys have the same time to live, from the beginning of a rebuild on, which is renewed while the
-- board is built or used; any of them may be lost before that. If 1, 2, or 3 of a dense board is lost alone, the board is missing: each has a member that marks it. If 4
-- is lost, revisions of removed members stay in 2 until the board is rebuilt, and the audit finds who fell out.

-- Returns whether the board is ready and of this generation, from its state. If it is not, returns the answer for the
-- caller, and the end of the lease and the token if it is built.
local function state_of(state, gen)
  if not state then
    return false, 'missing'
  end
  -- mutation: board-generation
  if string.sub(state, 3, #gen + 3) ~= gen .. ':' then
    return false, 'missing'
  end
  -- mutation: board-building
  if string.sub(state, 1, 1) == 'R' then
    return true
  end
  local lease, token = string.match(state, '^(%d+):(.*)$', #gen + 4)
  return false, 'building', tonumber(lease), token
end

-- Returns whether a sorted set of the board is lost: each has at least the member ''. Only a dense board needs the scores.
local function is_lost(is_dense)
  return redis.call('ZCARD', KEYS[1]) == 0 or is_dense and redis.call('ZCARD', KEYS[3]) == 0
end
