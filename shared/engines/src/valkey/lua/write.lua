-- Writes a key and deletes it.
--
-- KEYS  1 a key that no user has
-- Returns 'done'
redis.call('SET', KEYS[1], 'probe')
redis.call('DEL', KEYS[1])
return 'done'
