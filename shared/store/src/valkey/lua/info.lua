-- What the server tells of itself within a script.
--
-- KEYS  1 any key of the server
-- ARGV  1 a section of INFO
-- Returns {'told', the text} or {'refused', the reason}
local info = redis.pcall('INFO', ARGV[1])
if type(info) == 'table' and info.err then
  return { 'refused', info.err }
end
return { 'told', type(info) == 'table' and info.ok or info }
