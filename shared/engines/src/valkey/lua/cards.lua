-- Reads cards of one bucket. The caller gets the lease of each card that is missing, unless another reader holds it.
-- On a single node, cards that are all there are read without this script, by simple commands (see cards.rs).
--
-- KEYS  1 memory, 2.. the cards
-- ARGV  1 token of this reader ('': take no leases), 2 now in ms, 3 length of the lease in ms
-- Returns for each card its value, or 1 if the caller has the lease, 0 if another reader has it, -1 if the card is
--       missing and has no lease
local held = redis.call('MGET', unpack(KEYS)) -- one call for all, since a page makes many
local mine = present(table.remove(held, 1))
if not mine then
  return READ_ONLY
end
local head = ':' .. mine .. ':'
-- Returns whether a value is a card of the present memory.
local function is_card(value)
  -- mutation: card-memory
  return value and string.find(value, head, 2, true) == 2
end
local missing = false
for _, value in ipairs(held) do
  missing = missing or not is_card(value)
end
if not missing then
  return held -- as for most pages
end
local now, length = tonumber(ARGV[2]), tonumber(ARGV[3])
for i = 1, #KEYS - 1 do
  local value = held[i] or ''
  local listed, owner, til, token = string.match(value, '^L([01]):([^:]*):(%d+):(.*)$')
  if is_card(value) then
    -- stays
  elseif ARGV[1] == '' then
    held[i] = -1
  elseif value == 'S:' .. ARGV[1] or value == 'X:' .. ARGV[1] then
    held[i] = -1 -- a late repetition of a call whose lease was ended
  -- mutation: card-herd
  elseif owner == mine and tonumber(til) > now and tonumber(til) <= now + length and token ~= ARGV[1] then
    held[i] = 0
  else
    local is_listed = listed == '1' or string.find(value, '^[SV]')
    local lease = (is_listed and 'L1' or 'L0') .. head .. string.format('%d', now + length) .. ':' .. ARGV[1]
    local set
    if is_listed then
      set = redis.pcall('SET', KEYS[i + 1], lease, 'KEEPTTL')
    else
      set = redis.pcall('SET', KEYS[i + 1], lease, 'PX', length * 10)
    end
    held[i] = set.err and -1 or 1 -- a full server refuses the lease
  end
end
return held
