//! Tags: the posts that have them, as feeds that everybody reads, and the public feed.
//!
//! | module | does |
//! | --- | --- |
//! | `sync` | brings rows and feeds up to date with posts |
//! | `items` | the rows of posts under tags, in parts |
//! | `uses` | the uses of tags by day, for the ranking of tags |
//! | `names` | the names of tags, for completion |
//! | `followed` | the tags that a user follows |
//! | `cases` | what users do with tags |
//!
//! **Where the rows come from.** A post keeps the hashes of all tags that it ever had, and so does its tombstone. Whoever publishes,
//! edits or deletes a post sends an event, and its handler orders [`messages::UpdateTagFeeds`]. `deliver` takes up to ten of these
//! orders: it reads the posts, puts rows under the tags of their present texts, removes the others, does the same to the feeds in
//! Valkey with one script call for each bucket, and reads the posts again until nothing has changed meanwhile. So the order of
//! events does not matter, and a handler that dies is repeated.
//!
//! **Reading.** A tag feed is a feed like others: live in Valkey, with a floor, rebuilt from the rows. Readers pass over posts whose
//! present text lacks the tag, so an edit shows before its message is handled. A tag without posts is not kept in Valkey, because anybody
//! may ask for any tag; pages below the floor, and completions, are charged to the reader (`PullQueriesPerMinute`). The audit compares
//! the rows of posts with their texts. When a post loses a tag, a rebuild of that feed that is
//! under way is cancelled, because it may have read the post before.
//!
//! **The public feed** (`PUBLIC_DAYS`) is the feed of a tag that every post has, and no reply: [`TagHash::PUBLIC`]. Its rows expire.
//!
//! **Crowds.** 5,000 posts a second with one tag are more than a partition of DynamoDB takes. The rows of a tag are in 1 to 16 parts.
//! A writer of many rows of a tag doubles them when DynamoDB refuses rows, and remembers their number for 10 s; a reader asks for
//! it. The first page of a tag, with its cards, stays for a second in each environment of a function (`home`), so the shard of a tag
//! gets one read a second from each, however many read. What depends on the viewer is read for each request.
//! `simulation::crowd_tags` has 5,000 posts, 2,500 deletions and 50,000 reads a second. It does not have the limits around it: `ApiRate`, the
//! concurrent executions of the account, `FanOutAtOnce` (50 for these posts), and the table's: 10,000 write units a second, where a new
//! table takes 4,000 until it has grown.
//!
//! **Costs.** A post without tags costs what it cost before. One with tags costs a message, two reads of the post (one read unit each,
//! up to 4 KB), and for each tag two write units (the row and the use). In each environment, it costs a read unit once in 10 s, for the
//! number of parts, and a write unit once a day, for the name, whose loss only delays a suggestion. The public feed
//! costs the message, the reads, and one write unit. Following a tag: one or two read units and, in a transaction, four write units.
//!
//! # Bounds
//!
//! - A ranking of tags makes 256 queries or more, and reads the uses of two or three days: about ten read units for a thousand uses,
//!   once in `RankingSeconds`. A user who puts 30 new tags into each post adds up to 13 million uses a day, which cost 130,000 read units
//!   each time while somebody reads the ranking. They take no memory, because only the best tags of each part are kept.
//! - Tags with few posts are live feeds, if somebody reads them, until nobody has for `InactiveAfter`: about 150 bytes each.
//! - The name of a tag without posts stays for 30 days. 200 of them with the same beginning hide those after them from completions.
//! - Posts are removed from a feed that is being rebuilt by cancelling the rebuild. If a tag loses more than about 50 posts a second, its
//!   feed may not become live, and its pages are pulled.
//! - Each page below the first one reads the number of parts: about 3,000 of them a second for one tag.
//! - The uses of a tag have 8 of the 128 keys of a day. Above 1,000 uses a second under a key, messages are repeated for the ranking
//!   alone: the feeds have the posts by then.
//! - The versions of a post have at most 60 tags, because each edit brings the feeds of all of them up to date.
//! - Of a busy tag, about 1,000 of the newest posts are counted to tell how it is used, and how it is written. This is 5 s old at most.
//! - The name of a tag is suggested for 30 days after its last use, while the tag has posts. Tags above 1,000 bytes are not suggested.
//! - Two tags with the same 64 bits of a SHA-256 share a feed. Somebody can make two such tags, but not one for a given tag.
//!
//! [`TagHash::PUBLIC`]: fanfold_core::TagHash::PUBLIC

pub mod cases;
pub mod followed;
pub mod items;
pub mod messages;
pub mod names;
pub(crate) mod owned;
pub mod settings;
pub mod sync;
pub mod tagging;
pub mod uses;
