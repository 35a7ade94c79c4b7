//! Boards: rankings of members by their scores.
//!
//! DynamoDB has the scores. Valkey has copies of rounds, which rank their members. A copy is made when somebody reads or
//! changes a board, and is never shown before it is complete.
//!
//! | module | contains |
//! | --- | --- |
//! | [`settings`] | make, change, list and delete a board |
//! | [`change`] | set, add to and remove scores |
//! | [`read`] | ranks, pages, ranges and percentiles |
//! | [`target`] | a round, with its copy |
//! | `copied` | how a round is copied |
//! | [`source`] | what copies are made from |
//! | [`fallen`] | places members on copies, and removes those who fell out |
//! | [`events`] | handles the events |
//! | [`compare`] | compares copies with their rows |
//!
//! DynamoDB has the rows of a round, and Valkey has a copy that ranks their members. `boards/` has the use cases,
//! `shared/kinds/src/boards/items/` the settings and the rows, and the scripts are `board_*.lua`; `_board.lua`
//! describes the keys of a copy.
//!
//! | who | when | does |
//! | --- | --- | --- |
//! | a request | scores change | sends `ScoresChanged`, writes the rows, reads them, and puts them on the copy |
//! | a request | somebody reads or changes a round without a copy | makes the copy, or sends `RebuildBoard` |
//! | `changes` | 30 s after a change of scores | puts the present rows on the copy, if there is one |
//! | `changes` | 30 s after a change of a board | marks the card; if the board is gone, removes rows and copies |
//! | `rebuild` | SQS delivers `RebuildBoard` | loads parts of a copy |
//! | `audit` | every `AuditEvery` minutes | compares some members of copies with their rows |
//!
//! **Make, change or delete a board.** `boards` reads the board, and the owner's profile unless the board is deleted,
//! sends `BoardChanged` with a delay of 30 s, and writes the settings on condition that the board is as it was read. A
//! new or deleted board also changes the counter in the profile, in the same transaction. Then the card of the board
//! is marked as stale, and `changes` marks it again. If the board is gone, `changes` removes its rows, round by round,
//! and the copy of each round, in as many messages as it takes.
//!
//! **Change scores.** `boards` takes the board from its card, while Valkey counts the write. A caller other than the
//! owner also needs a profile, which is read. Then `ScoresChanged` is sent, with the names of the members and a delay
//! of 30 s. Then each member is changed by itself, 16 at the same time: a set or an addition is an update of one row,
//! an addition with an `Idempotency-Key` is a transaction of the row and of the key, which names the round, and a
//! removal leaves a tombstone. Each change makes the revision of the row greater. The rows are read, and the card of
//! the board again, because a reader may have made the copy of other settings meanwhile, and one script puts them on
//! the copy and returns the ranks. A row whose revision is not greater than the known one changes nothing, so the
//! order of arrival does not matter. If the copy is missing, it is made first. While another request makes it, the
//! script is called again for up to 1.5 s, which changes nothing that is known. If messages make it, or Valkey does
//! not answer, the answer is 202, without ranks. `changes` handles the event like a writer: it reads the present rows
//! and puts them on the copy. If the board is gone, it removes the rows of these members.
//!
//! **Read ranks.** `boards` takes the board from its card and calls one script, so all numbers of an answer are of one
//! state: standings of up to 100 members, a page from a rank on, the neighbours of a member, a range of the first
//! score, or a percentile. If the copy is missing, the reader makes it. If another request is making it, the reader
//! looks again for up to 1.5 s, and if messages make it, for 0.5 s. Then the answer is 503 with `Retry-After: 1`.
//!
//! **Settings.** The settings of a board are one item, which each change writes with a revision greater by one, on
//! condition that it is as it was read. Requests use the card of the board. A change of the ranks or the limit makes
//! the number of the layout greater, and the id of the copy is a hash that contains it. A writer who has an old card
//! puts its rows on the old copy; 30 s later, the event reads the board and puts them on the present one. Old copies
//! are not removed: nobody asks for them, and they expire.
//!
//! **Periods.** A round is named by its first day in the zone of the board. A change takes the round of the present
//! time, when the request begins. The rows of a round have the time at which they expire, computed from `kept_days`
//! when they are written. Readers compare with the present settings, so a shorter time holds at once.
//!
//! **Merged boards.** The version of a copy is the number of minutes since 1970. A small board is merged in the
//! request. Otherwise `RebuildBoard` names the version, and `rebuild` reads one part of all sources into memory,
//! merges its members, and loads them with the revision 1. This is possible because the part of a member depends on
//! its name only. Sources that are gone, or have another number of scores, are left out. Members above the limit are
//! left out, and no row is removed.
//!
//! **Delete.** The transaction removes the settings and changes the counter of the owner. `changes` then removes rows,
//! 500 at a time, in all rounds from the one in which the board was made up to that of tomorrow, except those that
//! have expired; and after each round its copy. With less than 5 s left, it sends `BoardChanged` again, with the round
//! at which it stopped. A request that had read the board before it was deleted may write rows later; the handler of
//! its `ScoresChanged` finds that the board is gone, or has another token, and removes the rows of these members. The
//! keys of additions consist of hashes and a round, and expire after 24 hours.
//!
//! # Decisions
//!
//! - **DynamoDB has a row for each member, under 16 partition keys, with a revision.** One item for a board would be
//!   written by everybody. 16 parts take 16,000 write units a second. The revision makes the order of changes visible
//!   in Valkey, whoever brings them. A new member begins with the time in milliseconds as its revision: the tombstone
//!   of an earlier removal expires after a day, and a revision that began with 1 would be less than one that a copy
//!   remembers. A member is not changed more than 1,000 times a second, so the time is always ahead.
//! - **The event is delayed by 30 s, and has no token.** The event of a like has a token, and its handler looks for
//!   that like. A member with many changes a second never shows the token of each. Here the handler needs only the
//!   present state, so it is enough that it runs when every commit that the event announces has come or never will.
//!   The ranks come from the writer; the event corrects them if the writer died or did not reach Valkey.
//! - **Only an addition with an `Idempotency-Key` is a transaction.** The key must be in the same commit. DynamoDB
//!   cancels transactions that meet on an item: with ten writers who add to one member, some gave up after ten tries
//!   in the simulation. An update without a key waits for others instead: 100 additions of the same ten writers took
//!   0.2 s. An addition that is sent twice counts twice, so the SDK does not repeat this call. After an error the
//!   client cannot know whether the addition was made; a client who must know sends a key.
//! - **The id of a copy contains the layout.** Another kind of ranks or another limit needs another copy. To change
//!   the present one in place, a script would have to handle all members, or writers would have to know both forms.
//!   The old copy is left to its time to live.
//! - **A removal reads the row first.** The SDK repeats a call whose answer is lost, and finds the tombstone of its
//!   own first try; a member that was there is then removed, and not unknown. A set that is repeated this way can
//!   replace the set of another writer that came in between: two sets of one member at the same time have no order,
//!   and the client that needs one adds, or sets with `if_better`.
//! - **The board has the identity of its owner.** Two identities can have the same user id, so a writer compares the
//!   whole identity. A server of a game writes as the owner, thousands of times a minute; with the identity on the
//!   card of the board, its profile is not read each time.
//! - **A merged board is a snapshot.** To keep it up to date, each change of a source would need the rows of its
//!   member on all sources, and the names of all merged boards. A minimum that gets worse needs the other sources
//!   anyway. A snapshot costs nothing while nobody reads it.
//! - **The table is separate, and the events share `change-events`**, for the reasons that hold for likes. The board
//!   is the message group, so the changes of one board do not hold up the messages about others.
//! - **Ranks do not come from DynamoDB.** Without Valkey, a rank would need a query over all rows of a round for each
//!   request.
//!
//! # Bounds
//!
//! - A round of a board can get about 16,000 sets or additions a second, or 8,000 additions with an `Idempotency-Key`:
//!   each of its 16 parts takes 1,000 write units, and a transaction takes two of a part. Above that, requests are
//!   tried again, and then get 503. A new table takes 4,000 write units a second in all: 4,000 changes, or 1,000
//!   additions with a key.
//! - One member can get 1,000 additions a second. With an `Idempotency-Key` it can get about 60, because transactions
//!   meet on its row. More are tried again, and then get 503.
//! - All reads of a round are answered by one slot of Valkey, and its changes are ranked there. On Serverless they
//!   share the 30,000 ECPU a second of that slot. `tests/bench/README.md` has the server's CPU of each.
//! - A copy of 1,000,000 members reads all rows, about 25,000 read units, and takes several invocations of `rebuild`.
//!   Until it is ready, reads get 503 and changes 202. An invocation ends between two pages of rows, when less than
//!   twice the time of its longest page is left.
//! - If `RebuildBoard` waits in its queue for longer than two minutes, a reader sends another one; the first that
//!   arrives makes the copy. If the rest of a copy waits for longer than ten minutes, a reader begins the copy again.
//! - A merged board reads all rows of its sources at most once a minute while somebody reads it, and holds one part of
//!   all sources in memory, which an invocation must read and load. Ten boards of 100,000 members are 19,000 read
//!   units; see `tests/bench/README.md`. A part must fit into the time and the memory of `rebuild`; a larger merge
//!   fails, and is begun again when its lease has ended.
//! - A copy is kept for 7 days. One read or change in 64 renews this time, so a board that is used more rarely may be
//!   copied again.
//! - A member of a copy takes about 154 bytes with one score and a short name. `CardMemory` does not count copies; a
//!   full server evicts them.
//! - A change of the ranks or the limit of a board makes another copy. The earlier one remains for up to 7 days. The
//!   removal of a board removes the copies of its last ten layouts.
//! - `begin-memory` does not drop copies of boards. They are ignored only if the generation of the server is another
//!   one. If a cache does not show its generation, or the stack returns to a Valkey that it used within a week, ranks
//!   may be old until the audit finds them.
//! - The id of a dropped user stays among the `writers` of other boards. A writer needs a profile, so it gives a right
//!   to nobody but a user who returns with the same identity.
//! - The rows of a round expire at the time that was right when they were written. A later change of `kept_days` does
//!   not move it.

pub mod cards;
pub mod change;
pub mod compare;
mod copied;
pub mod events;
pub mod fallen;
pub mod items;
pub mod messages;
pub(crate) mod owned;
pub mod read;
pub mod round;
pub mod settings;
pub mod source;

use fanfold_core::board::Day;
use fanfold_core::{BoardId, BoardName, Time, UserId};
use fanfold_engines::card::Wanted;
use fanfold_engines::reading::ReadContext;

use crate::boards::items::StoredBoard;
use crate::{App, Error};
use round::BoardRound;

/// The name of a board in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardRef {
    /// The owner.
    pub owner: UserId,
    /// The name.
    pub name: BoardName,
    /// A day of the period whose round is meant. `None`: the present round.
    pub day: Option<Day>,
}

impl BoardRef {
    fn missing(&self) -> Error {
        Error::NoSuchBoard { owner: self.owner, name: self.name.clone() }
    }
}

/// The board with this name, from its card. Fails with [`Error::NoSuchBoard`].
async fn find(app: &App, board: &BoardRef, now: Time) -> Result<StoredBoard, Error> {
    let id = BoardId::of(board.owner, &board.name);
    let wanted = Wanted::default().and::<Option<Box<StoredBoard>>>([id]);
    let mut cards = wanted.read(&app.valkey, app, &ReadContext::new(now)).await?;
    let found = cards.take::<App, Option<Box<StoredBoard>>>(&id).flatten().map(|board| *board);
    // another name of the owner can have the same hash
    found.filter(|found| found.name == board.name).ok_or_else(|| board.missing())
}

/// The round of a board that a request means. Fails with [`Error::NoSuchBoard`] and [`Error::NoSuchRound`].
async fn meant(app: &App, board: &BoardRef, now: Time) -> Result<BoardRound, Error> {
    let found = find(app, board, now).await?;
    let round = match board.day {
        None => found.settings.round(now),
        Some(day) => found.settings.round_of(day, now).ok_or(Error::NoSuchRound(day))?,
    };
    Ok(BoardRound::new(found, round, now))
}
