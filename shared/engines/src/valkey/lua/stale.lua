-- Marks cards of one bucket as stale, after a commit that changed their items. Leases end, so a read that began before
-- the commit fills nothing.
--
-- KEYS  1.. the cards
-- Returns 'done'
-- mutation: card-replica
if not generation() then
  return READ_ONLY
end
for i = 1, #KEYS do
  local value = redis.call('GET', KEYS[i])
  if value then
    local listed, token = string.match(value, '^L([01]):[^:]*:%d+:(.*)$')
    local set
    if listed == '1' then
      set = redis.pcall('SET', KEYS[i], 'S:' .. token, 'XX', 'KEEPTTL')
    elseif listed == '0' then
      set = redis.pcall('SET', KEYS[i], 'X:' .. token, 'PX', 5000)
    elseif string.find(value, '^[SV]') then
      set = redis.pcall('SET', KEYS[i], 'S', 'XX', 'KEEPTTL')
    end
    -- mutation: card-stale
    if not set or set.err then
      redis.call('DEL', KEYS[i])
    end
  end
end
return 'done'
