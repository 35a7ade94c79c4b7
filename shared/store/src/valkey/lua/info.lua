-- What the server tells of itself within a script.
--
-- KEYS  1 any key of the server
-- ARGV  1 a section of INFO
-- Returns {'shown', the text} or {'refused', the reason}
local info = redis.pcall('INFO', ARGV[1])
if type(info) == 'table' and info.err then
  return { 'refused', info.err }
end
return { 'shown', type(info) == 'table' and info.ok or info }
