-- Counts requests of a user, unless the user has made too many (the generic cell rate algorithm).
--
-- Each request takes the same interval. The key holds the time at which the intervals of all requests so far end. Requests
-- that would move this time more than a window into the future are refused, all of them. If they take longer than the window,
-- they are accepted when no interval is left. The key expires when the time has passed. If it is lost earlier, the user may
-- make more requests.
--
-- KEYS  1 the key of the user's limit
-- ARGV  1 now in ms, 2 interval in ms, 3 window in ms, 4 the number of requests; with 0, nothing is counted, and the answer says
--       whether earlier ones are within the window; 5 'made' if the requests were made already and are never refused, or nothing
-- Returns 0 if the requests are counted, else the ms until they are accepted
local now, window, took = tonumber(ARGV[1]), tonumber(ARGV[3]), ARGV[2] * ARGV[4]
local done = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now) + took
local wait = math.ceil(done - now - math.max(window, took))
-- mutation: request-limit
if wait > 0 and ARGV[5] == '' then
  return wait
end
if took > 0 then
  redis.call('SET', KEYS[1], string.format('%.3f', done), 'PX', math.max(1, math.ceil(done - now)))
end
return 0
