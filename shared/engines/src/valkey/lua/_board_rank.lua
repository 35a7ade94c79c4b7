-- A function of the scripts that rank members of a board (see _board.lua).

-- The rank of a member of the board. `kind` is 'competition', 'dense' or 'ordinal'. A competition rank is the number of
-- members with better scores, plus one; the first member of each sorted set, '', counts.
local function rank_of(kind, scores, member)
  if kind == 'ordinal' then
    return redis.call('ZRANK', KEYS[1], scores .. member)
  end
  return redis.call('ZLEXCOUNT', KEYS[kind == 'dense' and 3 or 1], '-', '(' .. scores)
end
