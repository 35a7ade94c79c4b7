-- Adds rows that were read from DynamoDB to a board that is built, and renews the lease and the time to live. A row is applied
-- like a change, so a newer change of a writer stays.
--
-- KEYS  the four keys of the board
-- ARGV  1 the token of the rebuild, 2 now in ms, 3 the end of the lease in ms, 4 the time to live in ms, 5 who builds the board
--       from now on, 'Q' or 'M' (see _board.lua), or nothing if the same go on, 6 'dense' or another kind of ranks; then for each
--       row: the member, its revision (8 bytes), its encoded scores, which are empty if it was removed
-- Returns 'done', or 'lost' if this rebuild is no longer the present one
local gen = generation()
if not gen then
  return READ_ONLY
end
local state = redis.call('HGET', KEYS[2], '')
local _, _, lease, token = state_of(state, gen)
-- mutation: board-load-token
if token ~= ARGV[1] or is_lost(true) then
  return 'lost'
end
for i = 7, #ARGV, 3 do
  apply(ARGV[i], redis.call('HGET', KEYS[2], ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[6] == 'dense', ARGV[2])
end
local who = ARGV[5] ~= '' and ARGV[5] or string.sub(state, 1, 1)
redis.call('HSET', KEYS[2], '', who .. ':' .. gen .. ':' .. ARGV[3] .. ':' .. token)
keep(ARGV[4])
return 'done'
