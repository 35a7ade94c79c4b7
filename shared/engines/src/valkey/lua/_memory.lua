-- Functions that all scripts share that depend on the memory of a bucket. This file is put in front of them.
--
-- memory:{b} holds the time since which this server remembers bucket b without a gap:
-- '<generation>:<ms>:<token>'.
--
-- The generation is the beginning of the server's replication id. It changes when a replica is promoted,
-- when a snapshot is loaded, and when the bucket moves to another node. In each case, acknowledged writes
-- may be missing. After that, or if all data is lost, the next rebuild begins a new memory. Feeds and
-- relations of an older memory are ignored.
--
-- The token is that of the rebuild, followed by the generation. It makes the name unique, even if all data is lost in
-- the millisecond in which a memory began. A rebuild that is tried again has the same token: if the server was replaced
-- meanwhile, the generation distinguishes the two memories, also in cards, which have the token alone.
--
-- The time must not be earlier than the run of the script that begins the memory. Callers therefore send a
-- later time than they expect. Pushes whose followers were read before that time read the relations from
-- DynamoDB.

-- Returns this server's generation, or false on a replica, which takes no writes and may be behind.
local function generation()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then
    return '-' -- the server does not show its role
  end
  -- the role is in the first line after the heading, so the rest need not be searched
  if string.find(string.sub(info, 1, 64), 'role:slave', 1, true) then
    return false
  end
  local _, last = string.find(info, 'master_replid:', 1, true)
  return last and string.sub(info, last + 1, last + 8) or '-'
end

local READ_ONLY = { err = 'READONLY this server is a replica' }

-- A full server refuses commands that may take memory until the script has run one that may free some, even if that removed
-- nothing. What must be recorded on a full server therefore follows a removal.

-- Returns the memory under this key, or false if there is none or it has another generation.
local function memory_of(key, gen)
  local memory = redis.call('GET', key)
  return memory and string.sub(memory, 1, #gen + 1) == gen .. ':' and memory
end
