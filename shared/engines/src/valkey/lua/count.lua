-- Counts the arguments of the call.
--
-- KEYS  1 any key of the server
-- ARGV  any
-- Returns the number of arguments that arrived
return #ARGV
