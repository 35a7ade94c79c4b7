//! Every bound of the system. What can be set per deployment says so; the rest is fixed.

/// Characters of a post, as a person counts them (grapheme clusters).
pub const TEXT_GRAPHEMES_MAX: usize = 500;
/// A grapheme cluster has no bound of its own, so the bytes have one.
pub const TEXT_BYTES_MAX: usize = 4 * 1024;
/// Code points of one grapheme cluster: emoji in use have up to 11, Sanskrit and Tibetan stacks up
/// to 11. More is noise that is drawn over the lines around it.
pub const GRAPHEME_CHARS_MAX: usize = 12;
pub const HANDLE_CHARS_MAX: usize = 30;
pub const NAME_GRAPHEMES_MAX: usize = 50;
pub const NAME_BYTES_MAX: usize = 400;
/// A request body: the longest text with every byte escaped, and the braces around it.
pub const BODY_BYTES_MAX: usize = 32 * 1024;
/// Path and query of a request; the gateway takes 10 KiB with all headers.
pub const URI_BYTES_MAX: usize = 16 * 1024;
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;
pub const CURSOR_CHARS_MAX: usize = 200;
/// An id that stands in logs and goes with messages: ten of them must fit beside the bodies in
/// [`SEND_BATCH_BYTES_MAX`].
pub const REQUEST_ID_CHARS_MAX: usize = 128;

pub const PAGE_ITEMS_DEFAULT: usize = 20;
pub const PAGE_ITEMS_MAX: usize = 100;
/// Rounds in which a page may replace entries whose post is gone. A feed holds `FEED_CAP_MAX`
/// entries at most and a pull leaves deleted posts out, so this is never met in practice.
pub const PAGE_ROUNDS_MAX: usize = 64;

/// Members that a feed may have (setting `FEED_CAP`); see [`trim_above`]. With the floor it stays
/// below the 128 entries up to which a server with default settings keeps a compact list.
pub const FEED_CAP_DEFAULT: usize = 120;
pub const FEED_CAP_MIN: usize = 10;
pub const FEED_CAP_MAX: usize = 2_000;
/// One post in so many has the feeds that it is pushed to trimmed, if they are too long.
pub const TRIM_POST_IN: u16 = 4;
/// Buckets of a deployment (setting `BUCKETS`, fixed for its life).
pub const BUCKETS_DEFAULT: u16 = 256;
/// After this a feed that nobody reads is dropped (setting `INACTIVE_AFTER`, seconds).
pub const INACTIVE_AFTER_S_DEFAULT: u64 = 7 * 24 * 3600;
/// A read moves the due time of a feed's expiry no more often than this.
pub const TOUCH_EVERY_MS: u64 = 30_000;

/// Users that one user may follow: a rebuild asks each of them.
pub const FOLLOWING_MAX: u64 = 5_000;
/// Followers that share one partition before the next ones go to another.
pub const FOLLOWERS_PER_SHARD: u64 = 25_000;
pub const FOLLOWER_SHARDS_MAX: u16 = 1024;
/// Follower rows read at once.
pub const FOLLOWERS_PER_QUERY: i32 = 5_000;

/// Followers in one message (setting `CHUNK_FOLLOWERS`): ten messages fit one call to SQS.
pub const CHUNK_FOLLOWERS_DEFAULT: usize = 2_000;
/// 8 bytes a follower, base64: 107 KiB, well below the 256 KiB of an SQS message.
pub const CHUNK_FOLLOWERS_MAX: usize = 10_000;
/// An audience up to this size is pushed by dispatch itself (setting `SMALL_FOLLOWERS`).
pub const SMALL_FOLLOWERS_DEFAULT: usize = 2_000;
pub const SMALL_FOLLOWERS_MAX: usize = 10_000;
/// An audience above this size goes through queues of its own (setting `BULK_FOLLOWERS`).
pub const BULK_FOLLOWERS_DEFAULT: u64 = 50_000;
pub const BULK_FOLLOWERS_MAX: u64 = 1_000_000_000;
/// An author with so many followers is pulled, not pushed (setting `PULL_FOLLOWERS`; 0: none is).
pub const PULL_FOLLOWERS_DEFAULT: u64 = 0;
/// One who has fewer than this share of that is pushed again: some come and go.
pub const PULL_RELEASE_PERCENT: u64 = 80;
/// Authors who are pulled at the same time: a feed has a pointer to each that its reader follows.
pub const PULLED_AUTHORS_MAX: usize = 32;
/// Partitions of a large audience that one dispatch reads, and those that it reads at once.
pub const SHARDS_PER_PART: u16 = 8;
pub const SHARDS_AT_ONCE: usize = 4;
/// What SQS takes in one call.
pub const SEND_BATCH_MAX: usize = 10;
pub const SEND_BATCH_BYTES_MAX: usize = 250 * 1024;
/// Tries after which SQS gives a message up (setting `QUEUE_TRIES`, SQS takes no more). A poll that
/// Lambda throttles counts as a try, so fewer than five would give up messages that nobody has seen.
pub const QUEUE_TRIES_DEFAULT: u64 = 10;
pub const QUEUE_TRIES_MIN: u64 = 5;
pub const QUEUE_TRIES_MAX: u64 = 1_000;
/// A message that came that often because a store was away starts anew, so many times, after so
/// long at the most: with the template's settings for weeks.
pub const ANEW_MAX: u64 = 2_000;
pub const ANEW_DELAY_S_MAX: u64 = 60;
/// Of the reason that goes with a dead letter.
pub const REASON_CHARS_MAX: usize = 500;
/// What DynamoDB takes in one BatchGetItem.
pub const BATCH_GET_MAX: usize = 100;
/// The same in one BatchWriteItem.
pub const BATCH_WRITE_MAX: usize = 25;
/// Posts that a query of an author's posts looks at, at the least: deleted ones may be among them.
pub const QUERY_ITEMS_MIN: usize = 25;
/// Pages of one such query; after that the reader goes on from where it got to.
pub const QUERY_PAGES_MAX: usize = 20;
/// Tries of a call that answers "some of it, again please", and of a conflicting transaction.
pub const TRIES_MAX: u32 = 8;
/// Calls under way at once within one invocation.
pub const CONCURRENCY: usize = 32;
/// The same for the authors of a merge: a rebuild waits for a thousand answers.
pub const MERGE_CONCURRENCY: usize = 64;

/// How long a change of a relation is remembered in Valkey, at the least: the sweep then forgets it.
/// Older messages ask DynamoDB.
pub const REL_KEPT_MS: u64 = 3_600_000;
/// How long the row of an ended relation stays, so that the next change is later than it.
pub const RELATION_TOMBSTONE_KEPT_S: u64 = 2 * 24 * 3600;
/// How long a deleted post's tombstone stays: longer than any message lives (14 days).
pub const POST_TOMBSTONE_KEPT_S: u64 = 30 * 24 * 3600;
/// How long a delivery receipt stays.
pub const RECEIPT_KEPT_S: u64 = 30 * 24 * 3600;
pub const IDEMPOTENCY_KEPT_S: u64 = 24 * 3600;
/// An event goes out before its commit. What is not committed after this long never will be: a
/// writer lives 10 s at the most (an operator's order lives longer, but commits within a call of its event,
/// and a call takes 8 s at the most). Until then the event goes back to its queue, and starts anew there
/// when its tries are used up.
pub const COMMIT_GRACE_MS: u64 = 30_000;
/// Looks at a commit that is on its way, 20 to 320 ms apart, before the event goes back.
pub const LOOKS_MAX: u32 = 5;

/// Arguments of one command that ElastiCache Serverless takes, its name included.
pub const VALKEY_ARGUMENTS_MAX: usize = 3_999;
/// Feeds in one script call: bounds the time for which the server does nothing else.
pub const PUSH_FEEDS_MAX: usize = 1_000;
/// Script calls of one push that are under way at once.
pub const PUSH_CALLS_AT_ONCE: usize = 64;
/// Times that a command is sent again which a server throttled, with pauses of this length, doubled each
/// time, give or take a half: at most 1.1 s in all, since a cache doubles its capacity in minutes and a
/// message waits in its queue better than in a function.
pub const VALKEY_THROTTLED_TRIES_MAX: u32 = 4;
pub const VALKEY_THROTTLED_PAUSE_MS: u64 = 50;

/// A rebuild may work this long before another may take over.
pub const REBUILD_LEASE_MS: u64 = 10_000;
/// Followed authors up to whom a feed is rebuilt within the request. With more, the page is merged
/// from as little as it takes, and the feed is rebuilt by way of a queue.
pub const REBUILD_INLINE_AUTHORS: usize = 64;
/// Looks at a feed that somebody else is rebuilding, 5 to 80 ms apart, before it is pulled.
pub const REBUILD_LOOKS_MAX: u32 = 5;
/// From the time that a caller has for now until its script begins a new memory, at the most: as long as a
/// function lives that answers requests or takes messages. Pushes that were cut within this long after it
/// ask DynamoDB who still follows.
pub const MEMORY_BEGINS_WITHIN_MS: u64 = 20_000;
/// By how much the clocks of two functions may differ.
pub const CLOCKS_DIFFER_MS: u64 = 2_000;
/// A dispatch with less time left than this hands on the rest.
pub const DISPATCH_TIME_LEFT_MIN_MS: u64 = 5_000;

/// Rounds of a lazy merge. After that the reader goes on from where it got to.
pub const MERGE_ROUNDS_MAX: usize = 200;

/// Live feeds that one run of the audit compares with a pull (setting `AUDIT_FEEDS`).
pub const AUDIT_FEEDS_DEFAULT: usize = 50;
pub const AUDIT_FEEDS_MAX: usize = 1_000;
/// A run ends before this much of its time is left.
pub const AUDIT_TIME_LEFT_MIN_MS: u64 = 5_000;
/// A feed that differs is compared again this many times, this far apart: what is on its way
/// arrives meanwhile.
pub const AUDIT_LOOKS_MAX: u32 = 4;
pub const AUDIT_LOOK_EVERY_MS: u64 = 500;
/// An order of an operator ends before this much of its time is left, and says that it is to be given
/// again.
pub const ADMIN_TIME_LEFT_MIN_MS: u64 = 8_000;
/// Rows of a user who is dropped, read and taken away at once.
pub const DROP_PAGE: i32 = 500;
/// From when nothing is left that others could add to, until the last is taken away: longer than any
/// function lives that read something before that.
pub const DROP_SETTLES_MS: u64 = 30_000;
/// An order that died leaves a user to the next one after this long: longer than the function lives.
pub const DROP_LEASE_MS: u64 = 65_000;
/// How long one check of the deployed system may take, in ms.
pub const DOCTOR_CHECK_MS: u64 = 8_000;
/// Buckets in which a check looks for a shard that is not as it should be.
pub const PROBE_BUCKETS_MAX: usize = 256;
/// Looks for a message that was sent to the queue for checks, each waiting this long.
pub const PROBE_LOOKS_MAX: u32 = 3;
pub const PROBE_WAIT_S: i32 = 2;
/// How long a look hides the messages of other checks from them.
pub const PROBE_HIDES_S: i32 = 1;
/// How long an item of a check stays that died before it deleted it.
pub const PROBE_ITEM_KEPT_S: u64 = 3_600;
/// Looks at a feed that somebody else is rebuilding, this far apart: longer than a lease.
pub const ADMIN_REBUILD_LOOKS_MAX: u32 = 24;
pub const ADMIN_REBUILD_LOOK_EVERY_MS: u64 = 500;
/// Dead letters that one order brings back.
pub const REDRIVE_MAX: usize = 5_000;
/// Reasons of dead letters that an answer counts apart.
pub const REDRIVE_REASONS_MAX: usize = 50;
/// Feeds that one run of the sweep drops.
pub const SWEEP_FEEDS_MAX: usize = 50_000;
pub const SWEEP_BATCH: usize = 200;

// A feed with its memory, its floor, its pending floor and the entry that sets off a trim stays a
// compact list.
const _: () = assert!(FEED_CAP_DEFAULT + 4 <= 128 && trim_to(FEED_CAP_MIN) > 0);
// The largest chunk, base64, fits a message.
const _: () = assert!(CHUNK_FOLLOWERS_MAX * 8 * 4 / 3 + 300 < SEND_BATCH_BYTES_MAX);

/// The length above which a feed is trimmed. Lower than what it may have, because pushes look at
/// it only now and then.
pub const fn trim_above(cap: usize) -> usize {
    cap - cap / 8
}

/// Where a trim cuts back to: a block, so that it is paid once in many pushes.
pub const fn trim_to(cap: usize) -> usize {
    cap * 2 / 3
}
