-- Reads a section of INFO, as the server shows it to scripts.
--
-- KEYS  1 any key of the server
-- ARGV  1 a section of INFO
-- Returns {'shown', text} or {'refused', reason}
local info = redis.pcall('INFO', ARGV[1])
if type(info) == 'table' and info.err then
  return { 'refused', info.err }
end
return { 'shown', type(info) == 'table' and info.ok or info }
