//! What Fanfold has: a folder for each kind of data, and what works over all of them. They do not depend on HTTP or Lambda:
//! web handlers, workers and operators' commands call the same functions. Without functions of their own, `items` are the items
//! of a kind in DynamoDB, `cases` its use cases, and `events` the handlers of its messages.
//!
//! | module | use cases |
//! | --- | --- |
//! | [`people`] | create, change and find a profile |
//! | [`posts`] | publish, read and delete a post; read its delivery status |
//! | [`follows`] | follow, unfollow, list followers and followed users; apply a changed relation to a feed |
//! | [`marks`] | mark a post, list what a user marked |
//! | [`likes`] | list who likes a post; count likes |
//! | [`replies`] | read the context of a post; count replies |
//! | [`bookmarks`] | what happens to the bookmarks of a user who is erased or exported |
//! | [`feeds`] | where the posts of home and author feeds come from |
//! | [`home`] | read a page of a home or author feed |
//! | [`fanout`] | deliver a post to its author's followers |
//! | [`boards`] | boards: their settings, scores and ranks |
//! | [`rankings`] | posts by likes, and authors by likes |
//! | [`scheduled`] | schedule, list, read, change and cancel a post; publish it when it is due |
//! | [`tags`] | put posts under their tags, read tags, and follow them |
//! | [`timers`] | put, list, read and delete a timer; fire it when it is due |
//! | [`due`] | the kinds of items with a time of their own, and the look-ahead over them |
//! | [`webhook`] | post the timers that were due to the operator's address |
//! | [`present`] | turn ids into what a viewer sees, and fill pages |
//! | [`rebuild`] | rebuild a feed that a reader queued, or the feeds of one user |
//! | [`sweep`] | drop feeds that nobody reads, and forget old relations |
//! | [`audit`] | compare live feeds with DynamoDB, and rebuild those that differ |
//! | [`erase`] | remove everything that belongs to a user |
//! | [`export`] | read everything that is stored about a user |
//! | [`owned`] | what each kind does when a user is erased or exported, and in the audit |
//! | [`doctor`] | check the assumptions about Valkey, DynamoDB, SQS and clocks |
//! | [`memory`] | ignore the present data in Valkey, so that every feed is rebuilt |
//! | [`limit`] | limit how often a user may write |
//! | [`error`] | the reasons why a use case refuses a request |
//!
//! There are six tables in DynamoDB. `users` has the string key `pk`. The others have the keys `pk` and `sk`, and the TTL attribute
//! `expires_at` (seconds since 1970).
//!
//! | table | pk | sk | contains |
//! | --- | --- | --- | --- |
//! | users | `user#<user>` | | profile, counters and the heads of the newest posts; for a user who is being dropped, the state of the drop |
//! | users | `handle#<handle>` | | the user who has the handle |
//! | users | `pulled-authors` | | the authors whose posts are pulled, not pushed |
//! | posts | `<author>` | `<post>` | a post, or its tombstone |
//! | users | `about#<user>` | | what a user says about themselves |
//! | marks | `tag#<hash>` | `<number>` | that a busy tag has at least so many parts; the hash 0 stands for all posts |
//! | marks | `tagged#<hash>#<part>` | `<post>` | a post, under a tag of its present text |
//! | marks | `tag-uses#<day>#<part>#<row>` | `<hash>#<post>` | that a post has a tag, by the day of the post |
//! | marks | `tag-names#<character>` | `<tag>` | the name of a tag, for completion |
//! | marks | `followed-tags#<user>` | `tags` | the tags that a user follows |
//! | posts | `versions#<post>` | `<number>` | an earlier version of a post that was edited |
//! | posts | `key#<user>#<hash>` | `-` | the post that an `Idempotency-Key` made |
//! | posts | `receipt#<post>` | `-` | the plan and the state of the fan-out of a post |
//! | posts | `receipt#<post>` | `<partition>` | the state of the fan-out in one partition of followers |
//! | graph | `following#<user>` | `<author>` | a relation, or its tombstone |
//! | graph | `followers#<author>#<partition>` | `<bucket><user>` | a relation, from the author's side |
//! | graph | `counts#<author>#<partition>` | `<row>` | a part of the number of followers in the partition |
//! | graph | `kept#<user>` | `copy` | a home feed that was dropped and kept |
//! | marks | `likes#<user>` | `<post>` | a like |
//! | marks | `liked#<user>` | `<time>#<post>` | a like, in the list of what the user likes |
//! | marks | `likers#<post>#<part>` | `<time>#<user>` | a like, in the list of who likes the post |
//! | marks | `like-counts#<post>#<part>` | `<row>` | a part of the number of likes in the part |
//! | marks | `replies#<post>#<part>` | `<time>#<reply>` | a reply, in the list of a post above it |
//! | marks | `reply-counts#<post>#<part>` | `<row>` | a part of the number of replies in the part |
//! | marks | `bookmarks#<user>` | `<post>` | a bookmark |
//! | marks | `bookmarked#<user>` | `<time>#<post>` | a bookmark, in the list of its user |
//! | boards | `board#<owner>` | `<hash of the name>` | the settings of a board |
//! | boards | `scores#<round>#<part>` | `<member>` | the scores of a member, or its tombstone |
//! | boards | `score-key#<hash>` | `-` | an addition to scores that an `Idempotency-Key` names |
//! | due | `scheduled#<user>` | `<id>` | a scheduled post; or for some days, that it was published or cancelled |
//! | due | `soonest#<user>` | `<time>#<id>` | a scheduled post that waits, by its time |
//! | due | `timer#<user>` | `<name>` | a timer |
//! | due | `due#<hour>#<part>` | `<time>#<item>` | an entry of the index of due items |
//! | due | `due-checked` | `<part>` | the hour before which the index has no entries |

pub mod all;
pub mod app;
pub mod audit;
pub mod boards;
pub mod bookmarks;
pub mod doctor;
pub mod due;
pub mod erase;
pub mod error;
pub mod export;
pub mod fanout;
pub mod feeds;
pub mod follows;
pub mod home;
pub mod likes;
pub mod limit;
pub mod marks;
pub mod memory;
pub mod owned;
pub mod people;
pub mod posts;
pub mod present;
pub mod rankings;
pub mod rebuild;
pub mod replies;
pub mod scheduled;
pub mod subscriptions;
pub mod sweep;
pub mod tags;
pub mod timers;
pub mod webhook;

pub use app::App;
pub use error::Error;
