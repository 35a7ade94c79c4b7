-- Tries each command that the scripts use, on keys that do not exist, and deletes the keys again.
--
-- KEYS  1 a key for a text, 2 a key for a sorted set, a hash and a list; no user has these keys
-- Returns the list of refused commands, each with the reason
local text, set = KEYS[1], KEYS[2]
local refused = {}
local function try(name, ...)
  local answer = redis.pcall(name, ...)
  if type(answer) == 'table' and answer.err then
    refused[#refused + 1] = name .. ' ' .. tostring((...)) .. ': ' .. answer.err
  end
end
try('ZADD', set, 'GT', 1, 'a', 2, 'b')
try('ZSCORE', set, 'a')
try('ZMSCORE', set, 'a', 'b')
try('ZCARD', set)
try('ZCOUNT', set, '-inf', '+inf')
try('ZRANK', set, 'a')
try('ZLEXCOUNT', set, '-', '+')
try('ZRANGE', set, '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, 1)
try('ZRANDMEMBER', set, 1)
try('ZRANGESTORE', set, set, 0, -1)
try('ZREM', set, 'a')
try('ZREMRANGEBYRANK', set, 5, 6)
try('ZREMRANGEBYSCORE', set, 5, 6)
try('UNLINK', set)
try('HSET', set, 'a', 'b')
try('HGET', set, 'a')
try('HMGET', set, 'a', 'b')
try('HDEL', set, 'a')
try('RPUSH', set, 'a')
try('LLEN', set)
try('LINDEX', set, 0)
try('LRANGE', set, 0, 1)
try('LPOP', set)
try('SET', text, 'a', 'NX', 'PX', 1000)
try('SET', text, 'a', 'XX', 'KEEPTTL')
try('MGET', text)
try('GET', text)
try('EXISTS', text)
try('PEXPIRE', text, 1000)
try('DEL', text)
return refused
