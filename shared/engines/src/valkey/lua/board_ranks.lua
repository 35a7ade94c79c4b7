-- Reads scores and ranks of members.
--
-- KEYS  the four keys of the board
-- ARGV  1 the kind of ranks; then the members
-- Returns {'ready', the number of members; then for each member: its value, which is empty if it is not known, its rank, and
-- the number of members with better scores plus one; both are 0 if it is not on the board}; or {'building'} or {'missing'}
local gen = generation()
if not gen then
  return READ_ONLY
end
local kind = ARGV[1]
ARGV[1] = ''
local known = redis.call('HMGET', KEYS[2], unpack(ARGV))
local is_ready, answer = state_of(known[1], gen)
if not is_ready then
  return { answer }
end
-- mutation: ranks-lost
if is_lost(kind == 'dense') then
  return { 'missing' }
end
answer = { 'ready', redis.call('ZCARD', KEYS[1]) - 1 }
for nth = 2, #ARGV do
  local value = known[nth] or ''
  local scores, rank, better = string.sub(value, 9), 0, 0
  if scores ~= '' then
    better = rank_of('competition', scores)
    rank = kind == 'competition' and better or rank_of(kind, scores, ARGV[nth])
  end
  answer[#answer + 1] = value
  answer[#answer + 1] = rank
  answer[#answer + 1] = better
end
return answer
