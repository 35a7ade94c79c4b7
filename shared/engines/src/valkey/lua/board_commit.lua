-- Ends a rebuild: removes the members above the limit, and makes the board ready. A call removes a bounded number of
-- members. If more are above the limit, the board stays as it is, and the call is repeated.
--
-- KEYS  the four keys of the board
-- ARGV  1 the token of the rebuild, 2 now in ms, 3 the end of the lease in ms, 4 the kind of ranks, 5 the limit, 6 the most
--       members that are removed, 7 the number of bytes of encoded scores
-- Returns 'done', 'more' if the call must be repeated, or 'lost' if this rebuild is no longer the present one; then the
-- members that fell out
local gen = generation()
if not gen then
  return READ_ONLY
end
local state = redis.call('HGET', KEYS[2], '')
local ready = 'R:' .. gen .. ':' .. ARGV[1]
if state == ready then
  return { 'done' } -- a repeated call
end
local _, _, lease, token = state_of(state, gen)
-- mutation: board-commit-token
if token ~= ARGV[1] or is_lost(true) then
  return { 'lost' }
end
local limit, out = tonumber(ARGV[5]), {}
local over = limit > 0 and redis.call('ZCARD', KEYS[1]) - 1 - limit or 0
if over > 0 then
  out = trim(over, tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[4] == 'dense', ARGV[2])
end
if over > #out then
  redis.call('HSET', KEYS[2], '', string.sub(state, 1, 2) .. gen .. ':' .. ARGV[3] .. ':' .. token)
  table.insert(out, 1, 'more')
else
  redis.call('HSET', KEYS[2], '', ready)
  table.insert(out, 1, 'done')
end
return out
