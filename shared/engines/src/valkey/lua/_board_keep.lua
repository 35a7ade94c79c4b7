-- A function of the scripts that build boards (see _board.lua).

-- Keeps the keys of the board for this many ms.
local function keep(ms)
  for i = 1, 4 do
    redis.call('PEXPIRE', KEYS[i], ms)
  end
end
