//! Likes: a kind of marks that is public and counted. Who likes a post is a list, and the post shows the number.
//!
//! **Giving and taking back.** A like is a mark (`marks/`): one transaction writes it with its row in the list of the
//! user. The same transaction writes the row in the list of who likes the post, and one of the 128 rows that count its
//! likes. The count rows of a post are in 8 partition keys, and so is the list of who likes it; the hash of the user
//! chooses one. 2,000 users who like one post within a second conflict rarely (`simulation::crowd`).
//!
//! **Counting likes** works like the count of followers: `changes` sends itself `CountLikes` with a delay of one
//! second, adds up the rows, and writes the sum into the item of the post, unless the post has a sum of more changes
//! already. If the post is gone, it removes the likes that it finds, because somebody may have given one while the
//! post was deleted.
//!
//! **Lists.** What a user likes is one query. The users who like a post come from eight queries at the same time,
//! merged by time. Posts that are gone and users without a profile are passed over and replaced.
//!
//! **Whether the viewer likes a post** comes from the card of the viewer. A read of DynamoDB that makes this card asks
//! for the 200 greatest ids of liked posts. If there are fewer, the card has all likes. If not, the card does not know
//! posts that are older than its oldest one, and a page asks DynamoDB for these.
//!
//! **Removing the likes of a post.** `PostDeleted` also goes to `changes`. Its handler waits for the deletion, like
//! `dispatch`, and then removes up to 200 likes in one step: each like with its row in the list of the user in a
//! transaction, then the marks of the cards of these users, and last the rows in the list of the post. A function that
//! dies in between leaves the last rows, and the message is tried again. A function with less than 5 s left sends the
//! event again.
//!
//! # Decisions
//!
//! - **One card for each viewer, not one for each viewer and post.** A page of 20 posts would need 20 cards of 320
//!   bytes for each viewer, and a new post would not be on any of them, so pages of live feeds would read DynamoDB
//!   again and again. One card with the newest liked posts answers for every post that is newer than its oldest one.
//!   It is sorted by the ids of the posts and not by the times of the likes: a home feed begins with the newest posts,
//!   and the comparison of two ids says whether the card knows a post.
//! - **The likes of a post have 8 parts from the beginning.** Followers have partitions that grow with their number.
//!   Likes come much faster: a new post can get thousands in its first second. 8 parts take 4,000 a second, and a list
//!   merges 8 queries. A post without likes costs nothing: its rows do not exist.
//! - **A like has a token instead of a tombstone.** The event of a like has the token of the like that the commit
//!   adds, and its handler reads the like until it has this token. If two requests of a user overlap, the like of the
//!   one does not count as that of the other: it may be taken back before the other one commits, and then no event
//!   would be left for that commit. If the user changes the like again within the second, the first event waits until
//!   its commit can no longer come, 30 s later. It then does what the other event has done already.
//! - **The events share the queue `change-events`.** A queue of their own would take four alarms, two concurrent
//!   executions and 300 bytes of the environment of `admin`, and these budgets are nearly spent. The messages have the
//!   author as their group, so very many likes of one author's posts do not hold up the messages about others.
//! - **The table is separate from `posts`.** An on-demand table takes 4,000 write units a second when it is new, and
//!   later twice its previous peak. A like takes 8 units. In a table of their own, the likes of a post that everybody
//!   shares do not slow down publishing.
//!
//! # Bounds
//!
//! - A post can get about 4,000 likes a second: each of its 8 parts takes 1,000 write units, and a like takes two of a
//!   part. Above that, requests are tried again, and then get 503.
//! - Very many likes can meet the limit of a table: a new on-demand table takes 4,000 write units a second, and later
//!   twice its previous peak. A like takes 8 units of `marks`, and 2 of `users` for the condition on the profile. A
//!   new table therefore takes 500 likes a second. Above that, requests are tried again, and may get 503. A deployment
//!   that expects a sudden crowd warms both tables up first (`WarmThroughput`, which is charged once). The simulation
//!   has the limits of items and partition keys, and not those of tables.
//! - The first look of a viewer at any post reads the newest 200 likes of the viewer, and so does the first look after
//!   each like that the viewer gives. A viewer with more likes than that costs one more batch read for each page of
//!   older posts.
//! - Removing the likes of a deleted post takes 6 write units each. At 800 a second, a million likes take 20 minutes.
//!   Until then they are in the lists of their users, and are passed over there.
//! - The likes of about 8,000 posts can be counted a second: each of the 16 parts of a day takes 1,000 write units,
//!   and a transaction takes two for a row. Above that, counts are tried again by their queue. The count of a post
//!   takes 6 write units with the rows of the rankings.

mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{LikerPlace, LikersOf, likers};
