-- Applies changes of members after their commit, and answers their ranks after all of them.
--
-- KEYS  the four keys of the board
-- ARGV  1 the kind of ranks, 2 the limit, 3 the number of bytes of encoded scores, 4 now in ms, 5 the time in ms before which
--       removals are forgotten; then for each change: the member, its revision (8 bytes), its encoded scores, which are
--       empty if it is removed
-- Returns {'ready', the number of members, a list of the members that fell out now, a list of members that fell out and whose
-- removal from DynamoDB is not applied yet, each with its revision; then for each change: the member's value and its rank, which
-- is 0 if it is not on the board}; or {'building'} if a rebuild is under way, which keeps the changes; or {'missing'}
local gen = generation()
if not gen then
  return READ_ONLY
end
local kind, now = ARGV[1], ARGV[4]
local is_dense = kind == 'dense'
local fields = { '' }
for i = 6, #ARGV, 3 do
  fields[#fields + 1] = ARGV[i]
end
local known = redis.call('HMGET', KEYS[2], unpack(fields))
local is_ready, answer, lease = state_of(known[1], gen)
if not is_ready and not lease or is_lost(is_dense) then
  return { 'missing' }
end
local count = redis.call('ZCARD', KEYS[1]) - 1
local values, removed = {}, 0
for nth = 2, #fields do
  local member, place = fields[nth], 3 * nth
  local value, grown, is_removed = apply(member, values[member] or known[nth], ARGV[place + 1], ARGV[place + 2], is_dense, now)
  values[member] = value
  count = count + grown
  removed = removed + (is_removed and 1 or 0)
end
if not is_ready then
  return { answer }
end
local limit, out = tonumber(ARGV[2]), {}
-- mutation: board-limit
if limit > 0 and count > limit then
  out = trim(count - limit, 2 * #fields, tonumber(ARGV[3]), is_dense, now)
  for i = 1, #out do
    local member = string.sub(out[i], ARGV[3] + 1)
    if values[member] then
      values[member] = string.sub(values[member], 1, 8)
    end
  end
end
if removed + #out > 0 then
  -- more than were added, so their number does not grow without a bound
  forget(ARGV[5], 2 * (removed + #out))
end
-- mutation: board-fallen-known
answer = { 'ready', count - #out, out, limit > 0 and fallen(100) or {} }
for nth = 2, #fields do
  local member = fields[nth]
  local scores = string.sub(values[member], 9)
  answer[#answer + 1] = values[member]
  answer[#answer + 1] = scores == '' and 0 or rank_of(kind, scores, member)
end
return answer
