//! Copies of rows in Valkey, which ranks them.
//!
//! A copy is made in three steps: it begins empty, the rows are read and loaded, and then it is ready. Writers add their
//! changes to it from the beginning on, and rows are read after that, so it misses no change. A small copy is made within
//! a request. A large one is made by messages, part by part.
//!
//! | module | does |
//! | --- | --- |
//! | `copied` | what is copied, and from where |
//! | `call` | calls a copy, and has it made if Valkey does not have it |
//! | `make` | makes a copy, within a request or by messages |
//!
//! **Order.** The sorted set of a copy has all members with the score 0, so the server sorts them by their bytes: the
//! encoded scores, 8 bytes for each, and then the name. Lower bytes are better, so scripts compare scores without
//! knowing their values, and no number becomes a double (`shared/core/src/board.rs`). A rank is a count of the members
//! before these bytes. Dense ranks count in a second sorted set, which has all members' scores, each once.
//!
//! **Revisions.** Each change of a row makes its revision greater, also a removal, which leaves the revision as a
//! tombstone. A change is put on the copy with the revision of the row that was read after it. A row with the same
//! revision as the copy, or a lower one, changes nothing. Two writers of one member may therefore put their rows in
//! any order, twice or late. The copy remembers the revision of a removed member for an hour, and DynamoDB for a day.
//! A row is never put an hour after it was read: every handler reads it again. When the tombstone in DynamoDB has
//! expired, the next row of the member begins with the time in milliseconds, which is greater than the revision of the
//! tombstone.
//!
//! **Why no change is missing on a copy.** Let a rebuild begin at B, and read the row of a member at R, after B. Let a
//! writer commit a change at C, and put the row on the copy at P, after C.
//!
//! - C is earlier than R: the rebuild reads the change.
//! - C is later than R: P is later than B, so the writer finds the copy that is being made, and puts the row there. A
//!   copy that is being made keeps changes, and does not answer with ranks.
//! - The writer dies before P, or does not reach Valkey: the event arrives 30 s later, and its handler puts the row on
//!   the copy. If there is no copy, there is nothing to do: the next copy is made from the present rows.
//!
//! **Leases.** The state of a copy is *built*, by a request or by messages, with the token of the rebuild and the end
//! of its lease, or *ready*. A rebuild begins with `board_begin`, which empties the copy unless it has the same token.
//! While the lease lasts, another rebuild gets `busy` if a request builds the copy, and `queued` if messages do. A
//! writer who gets `busy` puts its rows again for up to 1.5 s. Each call of `board_load` renews the lease to 30 s
//! after the beginning of the invocation; an invocation lasts 20 s at most. `board_load` and `board_commit` of another
//! token change nothing and return `lost`. A rebuild that died is followed by another one when its lease has ended and
//! somebody reads or changes the board.
//!
//! **Rebuilds by parts.** A request reads at most 250 rows of each of the 16 parts, all at the same time. The boards
//! of a merge and the days of a ranking share this number. If a part has more, the request sends `RebuildBoard` with
//! its token, and answers 503, or 202 to a change. The first message calls `board_begin` again. If the copy is ready,
//! it only removes rows of members who fell out. If another rebuild has the lease, the message is done, unless that
//! one has loaded nothing and only waits for its own message: then this message takes over. If the queue is minutes
//! behind, the lease of a message ends before it arrives and a reader sends another one; the first that arrives makes
//! the copy. It loads part after part and page after page, in calls of 500 rows. With less than 5 s left, or less than
//! twice the time of its longest page, it sends a message that names the part and the last member, with a lease of ten
//! minutes. (A page is what DynamoDB returns at once; of a merged board or a ranking, it is a whole part.) That
//! message must not begin the copy again: if the server has lost it meanwhile, the token differs, and the message is
//! done. A message that comes twice loads the same rows once more, which changes nothing, or finds the copy ready. A
//! copy that is being made lives an hour.
//!
//! **Limit.** `board_put` removes the worst members if there are more than the limit, at most about twice as many as
//! it changes. `board_commit` removes 1,000 in each call, and is repeated until none is above the limit; a message
//! without time sends the rest of the calls as another one, which loads the last page again first. A member that was
//! removed in this way has *fallen out*: it is in `board:removed` with a negative time. `board_put` names up to 100
//! such members with each answer, not only those of this call. The caller buries their rows, 16 at the same time, each
//! on condition that the row has the revision that the copy knows. It reads the rows again and puts them on the copy,
//! which forgets the fallen ones by this. A request does so once, and a message up to 20 times. If others are left, a
//! reader or `rebuild` sends `RebuildBoard` from the first part on, whose handler finds that the copy is ready and
//! goes on; `changes` sends `ScoresChanged` without members. Nobody else needs to change or read the board.
//!
//! | a function dies after | the result |
//! | --- | --- |
//! | it put the rows on the copy, before it removed those that fell out | the rows stay. The copy names them in the next answer: to a writer, to the event, or to the audit, which asks with no changes |
//! | it removed some rows, before it put them | the next caller finds that these have no scores, and puts the tombstones |
//! | the copy was lost before the rows were removed | the next copy is made from all rows, and the worst fall out again |
//!
//! If the member was changed after it fell out, its row has a greater revision. It is not removed, and the row is put
//! on the copy: the member is back, or falls out again. A tombstone that has expired is put with a revision that is
//! greater by one.
//!
//! **Time to live.** A copy is kept for 7 days. One read or change in 64 renews the time. The same call notes the copy
//! in `boards:{b}`, from which the audit chooses. The four keys may be lost one by one, because a full server evicts
//! them. The sorted sets have a first member without a name, and the state is a field of the hash, so a copy notices
//! the loss of the keys that ranks depend on, and is made again.
//!
//! **Versions.** The copies of a merged board, and the snapshots of a ranking, are versions: each is a copy of its
//! own. Two keys name the version that was begun last, and the one that was ready last. A reader who does not find the
//! present version looks at the one that was begun last. If that one is being built and has a lease, no other one is
//! begun: several would slow each other, and each would be late. Otherwise the reader begins the present one. In both
//! cases the reader gets the version that was ready last, until Valkey drops it 15 minutes after its last use. If one
//! of the two keys is lost, a version more is begun, or readers get 503 until the next one is ready.

mod call;
mod copied;
mod make;

pub use call::{WAITS_MS, call, keep_at_times};
pub use copied::{Copied, Copier, Made, Place, RowSource, RowsOf, RowsPage, Version};
pub use make::{continue_copy, make};
