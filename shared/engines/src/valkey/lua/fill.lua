-- Fills cards of one bucket whose leases the caller holds.
--
-- KEYS  1 memory, 2 the queue of names, 3.. the cards
-- ARGV  1 token of the reader, 2 most entries of the queue, 3 now in ms, 4 how long a name stays in the queue in ms,
--       then for each card
--       1 its text ('': nothing to keep, the lease ends), 2 how long it is kept in ms, 3 its name,
--       4 its number of entries (0: it is not put into the queue)
-- Returns the names of the oldest cards that must be dropped
local mine = present(redis.call('GET', KEYS[1]))
if not mine then
  return READ_ONLY
end
local second = math.floor(ARGV[3] / 1000)
local stamp = ''
for i = 0, 3 do
  stamp = string.char(math.floor(second / 256 ^ i) % 256) .. stamp
end
local pushed = 0
for i = 3, #KEYS do
  local at = 4 + (i - 3) * 4
  local text, kept, name, entries = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local value = redis.call('GET', KEYS[i])
  local listed, memory, token = string.match(value or '', '^L([01]):([^:]*):%d+:(.*)$')
  -- mutation: card-lease
  if memory == mine and token == ARGV[1] then
    local set
    if text == '' then
      redis.call('DEL', KEYS[i])
    elseif entries == 0 then
      set = redis.pcall('SET', KEYS[i], 'U:' .. mine .. ':' .. text, 'PX', kept)
    elseif listed == '1' then
      set = redis.pcall('SET', KEYS[i], 'V:' .. mine .. ':' .. text, 'KEEPTTL')
    else
      set = redis.pcall('SET', KEYS[i], 'V:' .. mine .. ':' .. text, 'PX', kept)
      if not set.err then
        local names = {}
        for nth = 1, entries do
          names[nth] = name .. stamp
        end
        redis.pcall('RPUSH', KEYS[2], unpack(names))
        pushed = pushed + entries
      end
    end
    if set and set.err then
      redis.call('DEL', KEYS[i]) -- a full server keeps no cards
    end
  end
end
if pushed == 0 then
  return {}
end
redis.call('PEXPIRE', KEYS[2], ARGV[4] * 2)
local size, most = redis.call('LLEN', KEYS[2]), tonumber(ARGV[2])
local dropped, count = {}, 0
-- takes more entries than were added, so that a lower bound takes effect in time
for _, oldest in ipairs(redis.call('LRANGE', KEYS[2], 0, pushed + 99)) do
  local filled = 0
  for i = -4, -1 do
    filled = filled * 256 + string.byte(oldest, i)
  end
  local is_over = second - filled > ARGV[4] / 1000 -- the card has expired
  -- mutation: card-bound
  if size - count <= most and not is_over then
    break
  end
  count = count + 1
  local name = string.sub(oldest, 1, -5)
  if not is_over and name ~= dropped[#dropped] then
    dropped[#dropped + 1] = name
  end
end
if count > 0 then
  redis.call('LPOP', KEYS[2], count)
end
return dropped
