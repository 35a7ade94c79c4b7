-- Writes a key and takes it away.
--
-- KEYS  1 a name that is no user's
-- Returns 'done'
redis.call('SET', KEYS[1], 'probe')
redis.call('DEL', KEYS[1])
return 'done'
