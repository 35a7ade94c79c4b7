//! DynamoDB, the source of truth. There are six tables. `posts`, `graph`, `boards` and `due` have the string keys `pk` and `sk`,
//! and the TTL attribute `expires_at` (seconds since 1970). `likes` has the keys `pk` and `sk`, and `users` has the key `pk`;
//! both have no TTL attribute.
//!
//! | table | pk | sk | contains |
//! | --- | --- | --- | --- |
//! | users | `user#<user>` | | profile and counters; for a user who is being dropped, the state of the drop |
//! | users | `handle#<handle>` | | the user who has the handle |
//! | users | `pulled-authors` | | the authors whose posts are pulled, not pushed |
//! | posts | `<author>` | `<post>` | a post, or its tombstone |
//! | posts | `key#<user>#<hash>` | `-` | the post that an `Idempotency-Key` made |
//! | posts | `receipt#<post>` | `-` | the plan and the state of the fan-out of a post |
//! | posts | `receipt#<post>` | `<partition>` | the state of the fan-out in one partition of followers |
//! | graph | `following#<user>` | `<author>` | a relation, or its tombstone |
//! | graph | `followers#<author>#<partition>` | `<bucket><user>` | a relation, from the author's side |
//! | graph | `counts#<author>#<partition>` | `<row>` | a part of the number of followers in the partition |
//! | likes | `likes#<user>` | `<post>` | a like |
//! | likes | `liked#<user>` | `<time>#<post>` | a like, in the list of what the user likes |
//! | likes | `likers#<post>#<part>` | `<time>#<user>` | a like, in the list of who likes the post |
//! | likes | `like-counts#<post>#<part>` | `<row>` | a part of the number of likes in the part |
//! | boards | `board#<owner>` | `<hash of the name>` | the settings of a board |
//! | boards | `scores#<round>#<part>` | `<member>` | the scores of a member, or its tombstone |
//! | boards | `score-key#<hash>` | `-` | an addition to scores that an `Idempotency-Key` names |
//! | due | `scheduled#<user>` | `<id>` | a scheduled post; or for some days, that it was published or cancelled |
//! | due | `soonest#<user>` | `<time>#<id>` | a scheduled post that waits, by its time |
//! | due | `timer#<user>` | `<name>` | a timer |
//! | due | `due#<hour>#<part>` | `<time>#<item>` | an entry of the index of due items |
//! | due | `due-checked` | `<part>` | the hour before which the index has no entries |

mod attribute;
mod batch;
pub mod boards;
pub mod due;
mod form;
pub mod graph;
mod keys;
pub mod likes;
pub mod partitions;
pub mod posts;
mod probe;
pub mod pulled;
pub mod receipts;
mod rows;
mod transact;
pub mod users;

use attribute::{Item, number, text};
pub use boards::BoardStore;
pub use due::DueStore;
use form::{Stored, changed, check, read, read_key, write};
pub use graph::GraphStore;
pub use keys::ItemKind;
use keys::{Pk, hashed, key, pk_only};
pub use likes::LikeStore;
pub use posts::PostStore;
pub use probe::TableProbe;
pub use pulled::PulledStore;
pub use receipts::ReceiptStore;
pub use users::UserStore;
