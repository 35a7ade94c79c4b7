-- Functions that the scripts of cards share. This file and _memory.lua are put in front of each of them.
--
-- A card holds what a page shows of a post, a user or a viewer's relation to a user, or the user who has a handle. The
-- values of a card's key:
--   'V:<memory>:<card>'                       a card whose name is in the queue
--   'U:<memory>:<card>'                       a card whose name is not in the queue, because it is kept for seconds
--   'L<0 or 1>:<memory>:<until>:<token>'      a lease: one reader reads the item, and others wait until this time (ms)
--   'S' or 'S:<token>'                        stale: the item has changed, so the card must be read again. The token is
--                                             that of the lease that was ended; a repeated call gets no new lease
--   'X:<token>'                               the same, if the name is not in the queue
--
-- A reader fills a card only if its own lease is still there. A writer replaces the card or the lease after its
-- commit. A read that began before the commit therefore cannot fill the card after it. No rule depends on a key:
-- each may be lost at any time, and a lost lease cannot be filled. The times come from the readers, whose clocks may
-- differ: a lease that ends early costs another read.
--
-- The queue cards:{b} holds the names of the cards of a bucket, oldest first, so that their memory is bounded. A
-- card has at least one entry, and one more for each further unit of its size. An entry is the name and the time at
-- which the card was filled first, in seconds (4 bytes); the card expires a fixed time after that, and so does its
-- entry. '1' in a lease says that the card's name is in the queue already, '0' that it is not. Every key has a time
-- to live, so a full server evicts cards first.
--
-- <memory> is the token of the bucket's memory, with the generation in it, or the server's generation if the bucket has none. Cards of another
-- memory are ignored.

-- Returns what present cards of a bucket belong to, or false on a replica. The argument is the value of memory:{b}.
local function present(memory)
  local gen = generation()
  if gen and memory and string.sub(memory, 1, #gen + 1) == gen .. ':' then
    return string.sub(memory, string.find(memory, ':', #gen + 2, true) + 1)
  end
  return gen
end
