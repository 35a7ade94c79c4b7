//! Items with a time of their own, of any kind. An item is a tag, an owner and a key; a [`DueKind`] says what to do with those
//! of its tag.
//!
//! DynamoDB has the items, and an index of them by hour. Valkey has a sorted set of those that are due within the next hour
//! or two. A look-ahead runs every minute, takes what is due within two minutes, and hands it on to SQS with the delay that
//! is left. What is due sooner is handed on by the request that makes it. The handler of the messages has each item published
//! or fired by its kind.
//!
//! **The law.** An entry is written and removed in the transaction that makes, moves or ends its item, and that transaction takes
//! a [`HandOn`]: so somebody hands on every item, whatever dies. An item is handled at its time or later by the clock of its
//! handler, never earlier. An entry is a hint: its item says whether it is due, so an entry too many leads to nothing, and the
//! index in Valkey may be lost.
//!
//! | module | does |
//! | --- | --- |
//! | `kind` | what the engine asks of a kind |
//! | `engine` | hands on an item before its commit, and adds its entry to Valkey after it |
//! | `hand_on` | the proof that somebody hands an item on |
//! | `index` | the index in DynamoDB |
//! | `message` | the message of an entry |
//! | `lookahead`, `look`, `check` | find and hand on what is due |
//! | `handle` | handles the message of an entry |
//! | `lease` | one function at a time fires or publishes an item |
//! | `forget` | removes the items of a user |
//! | `pause` | leaves Valkey alone for a while |
//!
//! **Look-ahead.** `lookahead` runs every minute, for all parts of the index at the same time. It takes the entries of
//! the next two minutes from Valkey, in batches, soonest first. Then it loads the entries of the next one to two hours
//! from DynamoDB if Valkey has fewer than one, asks DynamoDB for overdue entries, adds those that Valkey lacks, and
//! takes again. A taken entry stays in the sorted set, with the end of a lease as its score. `ItemDue` is sent for
//! each entry, and then the score becomes a time an hour ahead, so that the next look-aheads leave the entry alone. If
//! Valkey does not answer for a part, its entries of the next two minutes come from DynamoDB. The next look-ahead
//! sends them again, unless they are done.
//!
//! **The proof.** A commit that makes or moves an item takes a `HandOn`. There are two ways to get one: to send
//! `ItemDue`, or to show that the entry is due in more than 120 s. So nobody can forget the message of an item that is
//! due before the next look-ahead. An item that keeps its time gets another message as well: a client may repeat a
//! request whose first try did not reach Valkey.
//!
//! **The index in Valkey.** A part has a sorted set and a horizon (`due:{p}` and `horizon:{p}`).
//!
//! | score of an entry | meaning |
//! | --- | --- |
//! | its time | nobody has taken it |
//! | 30 s from now, and 120 s | a look-ahead has taken it, and is handing it on |
//! | an hour from now, and 120 s | its message is under way |
//!
//! A look-ahead takes scores up to 120 s from now. The 120 s are added to the end of a lease for this reason: an entry
//! is taken again when its lease ends, and not before. `due` removes an entry when its item is done or gone.
//!
//! An entry too many is harmless: its message finds no item with this time, and the entry is removed. So requests add
//! entries and never remove any; the entry of an item that was moved or cancelled stays until its time. An entry too
//! few makes its item late: the item is found when it is overdue. Writers and the load may therefore run at the same
//! time without a lock, and a writer that cannot reach Valkey goes on.
//!
//! An entry that is handed on gets its new score only if its score is still that of this look-ahead's lease. Otherwise
//! its message has arrived already, or the lease has ended and another look-ahead has it.
//!
//! **Without Valkey.** If Valkey does not answer for a part, or refuses to write, the look-ahead reads the entries of
//! the next 120 s from DynamoDB and hands them on, soonest first, at most 4,000 and one query more. Nobody has a lease
//! of them, so the next look-aheads send those again that are not done: before their time and in the first minute
//! after it each time, and then in one minute of four, so that an outage does not fill the queue. `due` does each of
//! them once. After a call that failed or took a second, `due` leaves Valkey alone for 5 s, so that items do not wait
//! for it one after another.
//!
//! **Without DynamoDB.** What Valkey knows is handed on first. If DynamoDB fails, or takes long, only loads and
//! overdue entries wait.
//!
//! **Load.** If a part has no valid horizon, or one that is less than an hour ahead, the look-ahead loads entries up
//! to the end of the next hour. `due_begin` notes the time up to which it loads (*pending*), and returns the time up
//! to which the part is complete. Then the look-ahead reads the hours from there on, page by page, strongly
//! consistent. `due_load` adds a page and moves the horizon to the time of its last entry. From `due_begin` on,
//! writers add entries before the pending time. Let a writer commit an entry at C, and add it at A, after C. Let the
//! load begin at B, and read the entry's hour at R, after B.
//!
//! - C is earlier than R: the load reads the entry.
//! - C is later than R: A is later than B, so the writer adds the entry.
//!
//! An entry that the load read, and that was done before the load adds it, comes back. It is one entry too many. The
//! load begins with the present hour; earlier entries are overdue.
//!
//! **Loss of data.** The horizon begins with the server's generation. After a fail-over, an old snapshot or a loss of
//! all data, it has another generation or is missing. Then `due_take` returns nothing, `due_add` adds nothing, and the
//! next look-ahead removes the set and loads it again. Entries whose messages are under way are handed on a second
//! time. The load of a part has a token, that of the first load since the data was lost. A load that was under way
//! when the data was lost has another token, and adds nothing: otherwise it would move the new horizon over entries
//! that only the lost set had.
//!
//! **Overdue entries.** Each look-ahead reads the entries of DynamoDB that are 20 s or more past their time, from the
//! hour before which the part has no entries (`due-checked`) up to the present. It reads the last hour in any case,
//! because the clock of an earlier look-ahead may have been ahead. Entries that Valkey lacks are added and taken in
//! the same run. Entries that Valkey has keep their lease, unless the lease is longer than any that this look-ahead
//! could give: then it is from a clock that was ahead, and the entry is due at once. An hour that is over for ten
//! minutes and empty is noted in `due-checked`, and not read again: every request that could add an entry to it has
//! ended. A clock that is ahead could note hours that are not over. So a look-ahead notes one hour more than the last
//! one at most (or all hours up to a week ago), the noted hour and the one before it are read again, and an hour that
//! was noted too early goes back. After an outage of days, all hours since then are read. If the noted hour is ahead
//! of the clock, the last 24 hours are read. A look-ahead reads 10,000 overdue entries of a part and one query more;
//! the others come when these are done. The metric `DueOverdue` counts the entries that were found. This is the audit
//! of the index, so the function `audit` leaves it out: an entry that Valkey lacks is found here, and one too many
//! ends when it is handed on.
//!
//! **Unknown entries.** An entry of a kind that this version does not know is left where it is, and counts as overdue
//! from its time on. A release that is rolled back can leave such entries; they do not hold up the others.
//!
//! **Early messages.** SQS takes delays in whole seconds, and they are rounded up. Clocks may differ. If the time is
//! still ahead by the clock of `due`, the message is sent again with the delay that is left, and at least one second.
//! If more than 120 s are left, the entry gets its time as its score, and a look-ahead hands it on.
//!
//! **Order.** All parts are handled at the same time, in batches of 200 from each part in turn, so a part with very
//! many entries does not hold up the others. Each batch is soonest first. A look-ahead that has less than 5 s left
//! ends, and the next one continues.
//!
//! # Decisions
//!
//! - **DynamoDB has an index by hour and part.** To find what is due, a look-ahead needs a query by time over the
//!   items of all users. A secondary index by time would have one hot partition key, or the same parts as this index,
//!   and it is only eventually consistent: an entry could be missed when its hour is checked for the last time. Here
//!   the same transaction writes item and entry, and queries are strongly consistent. With the hour in the key, hours
//!   that are over and empty are never read again. The parts divide the writes of an hour that many users choose.
//! - **Valkey has only the next one to two hours.** Most items wait for days. All of them in Valkey would take memory
//!   without limit, and a load after a loss of data would take long. With whole hours, a look-ahead loads each part
//!   once an hour. The look-ahead asks Valkey, and not DynamoDB, for what is due next, because it must note who has
//!   taken an entry and until when. In DynamoDB, each note would be a write to the hour that is in use most.
//! - **A load has a pending horizon**, as a rebuild has a floor that waits for its commit (rules 3 and 4). The load
//!   first notes the time up to which it will read. From then on, writers add entries up to that time. Then it reads
//!   DynamoDB. An entry that is committed before the read is in the read; the writer of a later one adds it. The
//!   horizon moves only with the pages that were added. If the server loses its data meanwhile, the token differs, and
//!   the load adds nothing.
//! - **A claim is a lease.** If a look-ahead removed the entries that it takes, its death would lose them until they
//!   are overdue. With leases they are due again after 30 s. `ItemDue` may arrive twice, because the handler reads the
//!   item.
//! - **The row of an entry says that its message was sent** (`announced`). A load of the index, or a look-ahead
//!   without Valkey, would otherwise send it again. A request that asks for what a timer or post is already sends
//!   nothing, and a text alone leaves the message of its post as it is. A request that others overtook three times is
//!   answered as if it had come before them.
//! - **Only `due` removes entries from Valkey.** A request that moves an item could remove the old entry at once. Then
//!   two requests could meet: one moves the item away, the other moves it back and adds the entry again, and the
//!   removal of the first one comes last. An entry too many costs one message; an entry too few makes an item late.
//! - **SQS delays the message.** A look-ahead runs every minute, and items have times to the millisecond. A delayed
//!   message arrives within about a second of its time, without a function that waits. Each item is handed on 60 to
//!   120 s ahead, so a look-ahead that fails or is skipped makes nothing late.
//!
//! # Bounds
//!
//! - The index of due items has 16 parts, and DynamoDB takes 1,000 write units a second in each hour of a part. The
//!   entries of one hour can therefore take 16,000 units a second: 8,000 items a second are scheduled for it or done
//!   in it, since a transaction takes two units for an entry. Above that, requests get 503 and due items are late.
//! - With the default `DueAtOnce`, 8 invocations handle 10 items each at the same time. An item takes three to five
//!   calls one after another, about 80 ms with calls of 20 ms: about 1,000 items a second are published or fired. If
//!   more have the same time, such as midnight, the last ones are late by their number divided by 1,000, in seconds.
//! - While Valkey does not answer, nobody notes who has taken an entry. Each item is then handed on by two or three
//!   look-aheads, and a look-ahead hands on at most 4,000 to 5,000 items of a part. If more are due within two
//!   minutes, the later ones wait for the next look-ahead.
//! - An item that was not added to Valkey, because its writer died after the commit or did not reach Valkey, is up to
//!   80 s late: it is overdue after 20 s, and a look-ahead runs every minute.
//! - A look-ahead reads at most 10,000 to 11,000 overdue entries of a part. It reports so many, and the others come
//!   when these are done.
//! - If the clock of a look-ahead is ahead and it dies while it hands on, its entries wait until that clock's lease
//!   ends.

mod check;
mod engine;
mod forget;
mod hand_on;
mod handle;
mod index;
mod kind;
mod lease;
mod look;
mod lookahead;
mod message;
mod pause;

pub use engine::{Due, OVERTAKEN_AFTER};
pub use forget::{ForgottenItems, forgotten};
pub use hand_on::HandOn;
pub use handle::handle;
pub use index::{DueIndex, Indexed};
pub use kind::{DueKind, Handled, Handling, Showing};
pub use lease::{EntryLease, HANDLED_ELSEWHERE};
pub use lookahead::{LookedAhead, look_ahead};
pub use message::ItemDue;
pub use pause::Pause;
