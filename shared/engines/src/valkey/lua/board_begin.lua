-- Begins a rebuild of a board, with an empty board. From then on, writers add their changes to it. A call that is repeated
-- with the same token keeps the members.
--
-- KEYS  the four keys of the board
-- ARGV  1 a token, unique to this rebuild; 2 now in ms, 3 the end of the lease in ms, 4 the time to live in ms, 5 'order' if
--       the rebuild also takes over from one whose order only waits in a queue
-- Returns 'begun', 'ready', or, if another rebuild has a lease, 'busy' if a request builds the board, and 'queued' if messages do
local gen = generation()
if not gen then
  return READ_ONLY
end
local state = redis.call('HGET', KEYS[2], '')
local is_ready, _, lease, token = state_of(state, gen)
local lost = is_lost(true)
if is_ready and not lost then
  return 'ready'
end
if lease and ARGV[5] == 'order' and string.sub(state, 1, 1) == 'Q' then
  lease = 0
end
if lease and token ~= ARGV[1] and lease > tonumber(ARGV[2]) then
  return string.sub(state, 1, 1) == 'B' and 'busy' or 'queued'
end
if token ~= ARGV[1] or lost then
  -- a full server would take the rest after a removal, and rows would be read that it does not take
  if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3], KEYS[4]) > 0 then
    -- mutation: board-begins-empty
    redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
  end
  redis.call('ZADD', KEYS[1], 0, '')
  redis.call('ZADD', KEYS[3], 0, '')
  redis.call('ZADD', KEYS[4], 'inf', '')
end
redis.call('HSET', KEYS[2], '', (ARGV[5] == 'order' and 'M:' or 'B:') .. gen .. ':' .. ARGV[3] .. ':' .. ARGV[1])
keep(ARGV[4])
return 'begun'
