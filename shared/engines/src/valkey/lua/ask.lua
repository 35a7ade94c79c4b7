-- Requests a count of an author's followers or of a post's likes, so that many changes lead to one count.
--
-- A caller that gets 'send' sends the message that counts, and then calls again with '1'. Only this second call
-- makes others rely on the message, because a sender may die before it sends. The count deletes the key before
-- it reads anything. If the key says 'asked', a count is therefore under way that has not read yet. A key that
-- came back with an older state of the server has another generation and is ignored.
--
-- KEYS  1 the key of the count
-- ARGV  1 token, 2 how long the key is kept in ms, 3 '1' if the message was sent, else '0'
-- Returns 'queued' if a count is under way, 'send' if the caller must send the message, 'sending' if another
--       caller is sending it. After the message was sent: 'queued', or 'send' if the key is gone
local gen = generation()
if not gen then
  return READ_ONLY
end
local queued, mine = gen .. ':asked', gen .. ':asking:' .. ARGV[1]
local held = redis.call('GET', KEYS[1])
-- mutation: count-sent
if held == queued then
  return 'queued'
end
if ARGV[3] == '1' then
  if held ~= mine then
    return 'send' -- a count may have begun since then, so the next change must send again
  end
  redis.call('SET', KEYS[1], queued, 'PX', ARGV[2])
  return 'queued'
end
if held and held ~= mine and string.sub(held, 1, #gen + 1) == gen .. ':' then
  return 'sending'
end
redis.call('SET', KEYS[1], mine, 'PX', ARGV[2])
return 'send'
