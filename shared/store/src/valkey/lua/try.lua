-- Tries each command that the scripts use, on keys that hold nothing, and leaves nothing behind.
--
-- KEYS  names of each kind, of one bucket that no user is in
-- Returns a list of the commands that were refused, each with the reason
local refused = {}
local function try(name, ...)
  local answer = redis.pcall(name, ...)
  if type(answer) == 'table' and answer.err then
    refused[#refused + 1] = name .. ' ' .. tostring((...)) .. ': ' .. answer.err
  end
end
for _, key in ipairs(KEYS) do
  try('ZADD', key, 'GT', 1, 'a', 2, 'b')
  try('ZSCORE', key, 'a')
  try('ZMSCORE', key, 'a', 'b')
  try('ZCARD', key)
  try('ZCOUNT', key, '-inf', '+inf')
  try('ZRANK', key, 'a')
  try('ZRANGE', key, '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, 1)
  try('ZRANDMEMBER', key, 1)
  try('ZRANGESTORE', key, key, 0, -1)
  try('ZREM', key, 'a')
  try('ZREMRANGEBYRANK', key, 5, 6)
  try('ZREMRANGEBYSCORE', key, 5, 6)
  try('EXISTS', key)
  try('UNLINK', key)
  try('SET', key, 'a', 'NX', 'PX', 1000)
  try('GET', key)
  try('PEXPIRE', key, 1000)
  try('DEL', key)
end
return refused
