-- Counts a write of a user, unless the user has made too many (the generic cell rate algorithm).
--
-- Each write takes the same interval. The key holds the time at which the intervals of all writes so far end. A
-- write that would move this time more than a window into the future is refused. The key expires when the time
-- has passed. If it is lost earlier, the user may write more.
--
-- KEYS  1 the key of the user's limit
-- ARGV  1 now in ms, 2 interval in ms, 3 window in ms
-- Returns 0 if the write is counted, else the ms until the next write is allowed
local now, interval, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local done = tonumber(redis.call('GET', KEYS[1]) or now)
done = math.max(done, now) + interval
local wait = math.ceil(done - now - window)
-- mutation: write-limit
if wait > 0 then
  return wait
end
redis.call('SET', KEYS[1], string.format('%.3f', done), 'PX', math.max(1, math.ceil(done - now)))
return 0
