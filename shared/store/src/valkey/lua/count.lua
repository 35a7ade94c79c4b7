-- KEYS  1 any key of the server
-- ARGV  any
-- Returns how many arguments came
return #ARGV
