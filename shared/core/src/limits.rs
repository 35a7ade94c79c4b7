//! The bounds of the product: texts, pages, bodies, batches, retries, and how long data is kept.
//!
//! A bound that has a setting names it; the others are fixed. Three kinds of bounds stand elsewhere:
//! the timeouts and retries of connections (`runtime/src/aws.rs`, `store/src/valkey/link.rs` and
//! `node.rs`), the life of a login token (`store/src/valkey/iam.rs`), and
//! [`RANGES`](crate::fanout::RANGES), which is part of the form of messages. Memory and timeouts of
//! functions are in `infra/template.yaml`.

use std::time::Duration;

/// The longest text of a post, in characters as a person counts them (grapheme clusters).
pub const TEXT_GRAPHEMES_MAX: usize = 500;
/// The longest text of a post in bytes of UTF-8. A grapheme cluster has no length limit of its own.
pub const TEXT_BYTES_MAX: usize = 4 * 1024;
/// The longest text of a post as it is sent, in code points, with the white space around it. A JSON
/// schema counts code points. Escaped with 12 bytes each, they fit [`BODY_BYTES_MAX`].
pub const TEXT_CHARS_MAX: usize = 2_048;
/// The longest grapheme cluster in code points. Emoji, Sanskrit and Tibetan characters in use have up
/// to 11. Longer ones would be drawn over the lines around them.
pub const GRAPHEME_CHARS_MAX: usize = 12;
/// The longest handle, in ASCII characters.
pub const HANDLE_CHARS_MAX: usize = 30;
/// The longest name, in grapheme clusters.
pub const NAME_GRAPHEMES_MAX: usize = 50;
/// The longest name, in bytes of UTF-8.
pub const NAME_BYTES_MAX: usize = 400;
/// The longest name as it is sent, in code points, with the white space around it.
pub const NAME_CHARS_MAX: usize = 400;
/// Accents on one character that the API's description allows. The functions accept more, up to
/// [`GRAPHEME_CHARS_MAX`] code points. A text or name of the longest characters, each with this many
/// accents, is within the limit of its bytes.
pub const ACCENTS_MAX: usize = 2;
/// The largest request body in bytes: the longest text with every byte escaped, and its braces.
pub const BODY_BYTES_MAX: usize = 32 * 1024;
/// The longest path and query of a request, in bytes. The gateway accepts 10 KiB with all headers.
pub const URI_BYTES_MAX: usize = 16 * 1024;
/// The longest `Idempotency-Key`, in ASCII characters.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;
/// The longest id of a request, which is logged and sent with messages. Ten ids fit beside ten bodies of
/// [`SEND_BATCH_BYTES_MAX`] in one call to SQS.
pub const REQUEST_ID_CHARS_MAX: usize = 128;

/// Items of a page, if the request has no `limit`.
pub const PAGE_ITEMS_DEFAULT: usize = 20;
/// The largest `limit` of a page.
pub const PAGE_ITEMS_MAX: usize = 100;
/// Fewest rows that a query for a list of users reads.
pub const LIST_QUERY_MIN: usize = 25;
/// Rounds in which a page replaces entries that it does not show. After the last round a page may be
/// short, with a cursor. This happens to viewers from whom very many entries in a row are hidden.
pub const PAGE_ROUNDS_MAX: usize = 64;

/// Members that a feed in Valkey may have (setting `FEED_CAP`); see [`trim_above`]. With its other
/// members, a feed of the default size stays within the 128 members up to which a server with default
/// settings stores a sorted set as a compact list.
pub const FEED_CAP_DEFAULT: usize = 120;
/// The least value of `FEED_CAP`.
pub const FEED_CAP_MIN: usize = 10;
/// The greatest value of `FEED_CAP`.
pub const FEED_CAP_MAX: usize = 2_000;
/// One post in this many checks the length of the feeds that it is pushed to, and trims long ones.
pub const TRIM_POST_IN: u16 = 4;
/// Buckets of a deployment (setting `BUCKETS`, which is fixed for the life of the deployment).
pub const BUCKETS_DEFAULT: u16 = 256;
/// Posts that one user may publish and delete per minute (setting `POSTS_PER_MINUTE`; 0: no limit). A
/// user can use the writes of a whole minute at once.
pub const POSTS_PER_MINUTE_DEFAULT: u64 = 300;
/// Follows and unfollows that one user may make per minute (setting `RELATION_CHANGES_PER_MINUTE`; 0: no
/// limit).
pub const RELATION_CHANGES_PER_MINUTE_DEFAULT: u64 = 600;
/// Changes of the profile that one user may make per minute (setting `PROFILE_CHANGES_PER_MINUTE`; 0: no
/// limit).
pub const PROFILE_CHANGES_PER_MINUTE_DEFAULT: u64 = 60;
/// Timers that one user may put and delete per minute (setting `TIMER_CHANGES_PER_MINUTE`; 0: no limit).
pub const TIMER_CHANGES_PER_MINUTE_DEFAULT: u64 = 300;
/// Likes that one user may give and take back per minute (setting `LIKE_CHANGES_PER_MINUTE`; 0: no limit).
pub const LIKE_CHANGES_PER_MINUTE_DEFAULT: u64 = 300;
/// Changes of boards and of their members that one user may make per minute (setting `BOARD_CHANGES_PER_MINUTE`; 0: no limit).
/// A request that changes several members counts once for each. A server of a game writes the scores of all players as one
/// user.
pub const BOARD_CHANGES_PER_MINUTE_DEFAULT: u64 = 600;
/// Queries that the pulled pages of one user may make per minute (setting `PULL_QUERIES_PER_MINUTE`; 0: no limit). They are
/// counted afterwards. A reader who follows 5,000 authors and reads 100 posts every five seconds makes 21,000.
pub const PULL_QUERIES_PER_MINUTE_DEFAULT: u64 = 25_000;
/// The greatest value of the setting `PULL_QUERIES_PER_MINUTE`.
pub const PULL_QUERIES_PER_MINUTE_MAX: u64 = 1_000_000;
/// Queries that a pulled page counts as, at least, because it reads posts and users, too.
pub const PULL_QUERIES_MIN: u64 = 100;
/// Posts that a pull below the floor of a home feed merges, at least: three large pages, and the post that shows that there is
/// a fourth one. Valkey keeps them for the pages that follow.
pub const OLDER_POSTS: usize = 301;
/// How long Valkey keeps them.
pub const OLDER_KEPT: Duration = Duration::from_secs(120);
/// The time after which no request can commit a post of an earlier time: the life of a function that answers requests, and the
/// difference of two clocks.
pub const OLDER_SETTLES: Duration = Duration::from_secs(12);
/// The greatest value of the settings of write limits.
pub const WRITES_PER_MINUTE_MAX: u64 = 60_000;
/// The period that write limits count in.
pub const WRITE_LIMIT_WINDOW: Duration = Duration::from_secs(60);
/// How long a write waits for Valkey's count after all its other reads are done. If there is no count
/// by then, the write is allowed.
pub const WRITE_LIMIT_GRACE: Duration = Duration::from_millis(20);
/// The time without a read after which a feed is removed from Valkey (setting `INACTIVE_AFTER`).
pub const INACTIVE_AFTER_DEFAULT: Duration = Duration::from_secs(7 * 24 * 3600);
/// The least time between two updates of the time at which a feed was last read.
pub const TOUCH_EVERY: Duration = Duration::from_secs(30);

/// Memory that cards may take in Valkey, in MiB (setting `CARD_MEMORY`).
pub const CARD_MEMORY_DEFAULT: u64 = 128;
/// The greatest value of `CARD_MEMORY`.
pub const CARD_MEMORY_MAX: u64 = 1_000_000;
/// The unit in which the memory of cards is counted, in bytes. The card of a short post takes one.
pub const CARD_UNIT_BYTES: usize = 320;
/// How long a card is kept, at most.
pub const CARD_KEPT: Duration = Duration::from_secs(3_600);
/// How long it is kept that a user has no profile.
pub const CARD_OF_NOBODY_KEPT: Duration = Duration::from_secs(10);
/// How long a reader may take to read the item of a card while others wait. After that, another reader reads it.
pub const CARD_LEASE: Duration = Duration::from_millis(500);
/// How long a bucket may take to answer a read or a fill of cards. After that, the items are read from DynamoDB.
pub const CARD_ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// How long a writer waits until its mark of stale cards is answered. After that, the event of the change marks them.
pub const CARD_MARK_WITHIN: Duration = Duration::from_secs(1);
/// Times that a reader looks for a card that another reader is reading, 5 to 320 ms apart. Together this takes longer
/// than [`CARD_LEASE`]. After that the reader reads the item itself.
pub const CARD_LOOKS_MAX: u32 = 7;

/// Authors that one user may follow. A rebuild reads the posts of each.
pub const FOLLOWING_MAX: u64 = 5_000;
/// Followers in each partition of an author, above which the number of partitions doubles (setting
/// `FOLLOWERS_PER_PARTITION`).
pub const FOLLOWERS_PER_PARTITION_DEFAULT: u64 = 25_000;
/// The greatest value of `FOLLOWERS_PER_PARTITION`.
pub const FOLLOWERS_PER_PARTITION_MAX: u64 = 1_000_000;
/// Partitions of a new author's followers (setting `FOLLOWER_PARTITIONS`). DynamoDB takes 500 follows a
/// second in each.
pub const FOLLOWER_PARTITIONS_DEFAULT: u64 = 4;
/// The greatest value of `FOLLOWER_PARTITIONS`.
pub const FOLLOWER_PARTITIONS_MAX: u64 = 64;
/// The most partitions of one author's followers.
pub const AUTHOR_PARTITIONS_MAX: u16 = 1024;
/// Rows that count the followers of one partition. DynamoDB cancels transactions that write the same item
/// at the same time, so each row takes about 60 changes a second.
pub const COUNT_ROWS: u64 = 16;
/// The time from the first change of an author's followers until they are counted. One count serves all
/// changes of that time.
pub const COUNT_DELAY: Duration = Duration::from_secs(1);
/// Times that a change checks whether another caller has requested the count, 5 to 80 ms apart.
pub const COUNT_LOOKS_MAX: u32 = 5;
/// Counts that one environment of a function requests in each [`COUNT_DELAY`] while a full server cannot remember that they
/// were requested.
pub const COUNTS_UNNOTED_MAX: usize = 10;
/// How long Valkey remembers that a count was requested. A count takes less.
pub const COUNT_REQUEST_KEPT: Duration = Duration::from_secs(30);
/// Parts of the likes of a post. DynamoDB takes 1,000 write units a second in each part, and the transaction of a like takes
/// two for a row, so a post can get 4,000 likes a second.
pub const LIKE_PARTS: u8 = 8;
/// Rows that count the likes of one part. Transactions that write the same row at the same time are cancelled.
pub const LIKE_COUNT_ROWS: u64 = 16;
/// Likes that the card of a viewer has: those of the newest posts. Older posts are looked up in DynamoDB.
pub const LIKES_CARD_MAX: usize = 200;
/// Likes of a deleted post that are read and removed in one step.
pub const LIKES_REMOVED_PAGE: usize = 200;
/// Likes of a deleted post that are removed at the same time.
pub const LIKES_REMOVED_AT_ONCE: usize = 16;
/// The remaining time below which the removal of the likes of a post ends and leaves the rest to another message.
pub const LIKES_TIME_LEFT_MIN: Duration = Duration::from_secs(5);
/// Rows of followers or followed authors that one query reads.
pub const FOLLOWERS_PER_QUERY: i32 = 5_000;

/// Followers in one message (setting `CHUNK_FOLLOWERS`). Ten messages of this size fit one call to SQS.
pub const CHUNK_FOLLOWERS_DEFAULT: usize = 2_000;
/// The greatest value of `CHUNK_FOLLOWERS`. A follower takes 8 bytes, so in base64 a chunk takes about
/// 104 KiB, less than [`SEND_BATCH_BYTES_MAX`].
pub const CHUNK_FOLLOWERS_MAX: usize = 10_000;
/// The largest audience that dispatch itself pushes to (setting `SMALL_FOLLOWERS`).
pub const SMALL_FOLLOWERS_DEFAULT: usize = 2_000;
/// The greatest value of `SMALL_FOLLOWERS`.
pub const SMALL_FOLLOWERS_MAX: usize = 10_000;
/// The audience above which a fan-out uses the bulk queues (setting `BULK_FOLLOWERS`).
pub const BULK_FOLLOWERS_DEFAULT: u64 = 50_000;
/// The greatest value of `BULK_FOLLOWERS`.
pub const BULK_FOLLOWERS_MAX: u64 = 1_000_000_000;
/// Followers from which an author is pulled and no longer pushed (setting `PULL_FOLLOWERS`; 0: no author
/// is pulled).
pub const PULL_FOLLOWERS_DEFAULT: u64 = 0;
/// Percent of `PULL_FOLLOWERS` below which a pulled author is pushed again. The gap keeps authors near the
/// limit from changing back and forth.
pub const PULL_RELEASE_PERCENT: u64 = 80;
/// The most authors that are pulled at the same time. A home feed has a pointer to each that its owner
/// follows.
pub const PULLED_AUTHORS_MAX: usize = 32;
/// Partitions of a large audience that one dispatch reads.
pub const PARTITIONS_PER_PART: u16 = 8;
/// Partitions that are read at the same time.
pub const PARTITIONS_AT_ONCE: usize = 4;

/// Messages that SQS takes in one call.
pub const SEND_BATCH_MAX: usize = 10;
/// Bytes of bodies that are sent to SQS in one call.
pub const SEND_BATCH_BYTES_MAX: usize = 250 * 1024;
/// Records of a batch that are handled at the same time, where a handler takes them one by one.
pub const RECORDS_AT_ONCE: usize = 10;
/// Tries after which SQS moves a message to the dead-letter queue (setting `QUEUE_TRIES`).
pub const QUEUE_TRIES_DEFAULT: u64 = 10;
/// The least value of `QUEUE_TRIES`. A poll that Lambda throttles counts as a try, so with fewer tries,
/// messages that no function has received could become dead letters.
pub const QUEUE_TRIES_MIN: u64 = 5;
/// The greatest value of `QUEUE_TRIES`, and the greatest that SQS accepts.
pub const QUEUE_TRIES_MAX: u64 = 1_000;
/// Times that a message is requeued because a store does not answer, before it becomes a dead letter. With
/// default settings this takes about six weeks.
pub const REQUEUES_MAX: u64 = 2_000;
/// The divisor that gives the wait of a failed message: the time since its first failure, divided by this.
/// A message is therefore delayed by at most a quarter of the outage, within the bounds below.
pub const RETRY_PART_OF_OUTAGE: u32 = 4;
/// The shortest wait of a failed message.
pub const RETRY_MIN: Duration = Duration::from_secs(1);
/// The longest wait of a failed message.
pub const RETRY_MAX: Duration = Duration::from_secs(300);
/// The time since the first failure during which [`SHORT_RETRY_MAX`] applies. A message that fails for less
/// than this may have met several short outages.
pub const SHORT_OUTAGE: Duration = Duration::from_secs(300);
/// The longest wait of a message that has failed for less than [`SHORT_OUTAGE`].
pub const SHORT_RETRY_MAX: Duration = Duration::from_secs(8);
/// The time since the first failure during which a message about something uncommitted is tried again every
/// [`RETRY_MIN`].
pub const UNCOMMITTED_RETRIES_WITHIN: Duration = Duration::from_secs(3);
/// The time between later tries of a message about something uncommitted. Most such commits never happen. The
/// message is done after [`COMMIT_GRACE`], before its tries are used up.
pub const UNCOMMITTED_RETRY: Duration = Duration::from_secs(10);
/// The longest delay that SQS accepts for a message that is sent.
pub const SEND_DELAY_MAX: Duration = Duration::from_secs(900);
/// The longest reason that is sent with a dead letter, in characters.
pub const REASON_CHARS_MAX: usize = 500;
/// Items that DynamoDB takes in one `BatchGetItem`.
pub const BATCH_GET_MAX: usize = 100;
/// Items that DynamoDB takes in one `BatchWriteItem`.
pub const BATCH_WRITE_MAX: usize = 25;
/// Fewest items that a query for an author's posts reads. Deleted posts may be among them.
pub const QUERY_ITEMS_MIN: usize = 25;
/// Pages of one query for an author's posts. After them, the caller continues where the query stopped.
pub const QUERY_PAGES_MAX: usize = 20;
/// Tries of a call that DynamoDB or SQS carried out in part, and of a change that met another one.
pub const TRIES_MAX: u32 = 8;
/// Tries of a transaction that met another one. When 2,000 users follow one author within two seconds, one request in 30,000
/// would need more than eight.
pub const TRANSACTION_TRIES_MAX: u32 = 10;
/// Calls of one invocation that are under way at the same time, where no other bound applies.
pub const CONCURRENCY: usize = 32;
/// Authors of a merge that are read at the same time. A rebuild may wait for a thousand answers.
pub const MERGE_CONCURRENCY: usize = 64;

/// How long Valkey remembers a change of a relation, at least. The sweep then removes it, and
/// older messages read the relation from DynamoDB.
pub const REL_KEPT: Duration = Duration::from_secs(3_600);
/// How long the row of an ended relation stays, so that the next change gets a later time.
pub const RELATION_TOMBSTONE_KEPT: Duration = Duration::from_secs(2 * 24 * 3600);
/// How long the tombstone of a deleted post stays. A message that is requeued again and again can
/// live longer, about six weeks. This does no harm: a post that is missing after [`COMMIT_GRACE`] counts
/// as never committed, and the message is done.
pub const POST_TOMBSTONE_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long a delivery receipt stays.
pub const RECEIPT_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long the post that an `Idempotency-Key` made is remembered.
pub const IDEMPOTENCY_KEPT: Duration = Duration::from_secs(24 * 3600);
/// The time after an event's time from which a missing commit counts as failed. An event is sent before
/// its commit. A function that answers requests lives at most 10 s. An operator's order lives longer, but
/// commits within one call after its event, and a call takes at most 8 s. Until then the event returns to
/// its queue.
pub const COMMIT_GRACE: Duration = Duration::from_secs(30);
/// Times that a handler looks for a commit, 20 to 320 ms apart, before its event returns to the queue.
pub const LOOKS_MAX: u32 = 5;

/// Arguments of one command that ElastiCache Serverless accepts, with the command's name.
pub const VALKEY_ARGUMENTS_MAX: usize = 3_999;
/// Feeds in one script call. The server does nothing else while a script runs.
pub const PUSH_FEEDS_MAX: usize = 1_000;
/// The time within which the script calls of one push begin. Later ones fail without being sent, so that
/// a server that does not answer cannot use up a function's time.
pub const PUSH_CALLS_BEGIN_WITHIN: Duration = Duration::from_secs(6);
/// Script calls of one push that are under way at the same time.
pub const PUSH_CALLS_AT_ONCE: usize = 64;
/// Times that a command is sent again after the server throttled it. All pauses together take at most 1.1 s:
/// a cache needs minutes to double its capacity, and a message should wait in its queue.
pub const VALKEY_THROTTLED_TRIES_MAX: u32 = 4;
/// The first pause after a throttled command, give or take a half. Each further pause is
/// twice as long.
pub const VALKEY_THROTTLED_PAUSE: Duration = Duration::from_millis(50);
/// Characters of an unknown script answer that are logged.
pub const UNKNOWN_ANSWER_CHARS_MAX: usize = 100;

/// How long the lease of a rebuild is held. After that another caller may rebuild the feed.
pub const REBUILD_LEASE: Duration = Duration::from_secs(10);
/// The most followed authors with which a home feed is rebuilt within the request. With more, the page is
/// pulled, and the feed is rebuilt through a queue.
pub const REBUILD_INLINE_AUTHORS: usize = 64;
/// Times that a reader looks at a feed that another caller is rebuilding, 5 to 80 ms apart, before the page
/// is pulled.
pub const REBUILD_LOOKS_MAX: u32 = 5;
/// The time that is added to the caller's time to give the time of a new memory: the script that begins
/// it runs within this time, because functions for requests and messages live no longer. Pushes whose
/// followers were read before that time read the relations from DynamoDB.
// mutation: memory-begins
pub const MEMORY_BEGINS_WITHIN: Duration = Duration::from_secs(20);
/// The time by which the clocks of two functions may differ.
pub const CLOCKS_DIFFER: Duration = Duration::from_secs(2);
/// The remaining time below which a dispatch sends the rest to its queue.
pub const DISPATCH_TIME_LEFT_MIN: Duration = Duration::from_secs(5);

/// Rounds of a merge of feeds. After them, the caller continues where the merge stopped.
pub const MERGE_ROUNDS_MAX: usize = 200;
/// Fewest posts that a merge reads from a feed first. DynamoDB reads whole blocks, so fewer cost the same.
pub const MERGE_FETCH_MIN: usize = 5;

/// Live feeds that one run of the audit compares with a pull (setting `AUDIT_FEEDS`).
pub const AUDIT_FEEDS_DEFAULT: usize = 50;
/// The greatest value of `AUDIT_FEEDS`.
pub const AUDIT_FEEDS_MAX: usize = 1_000;
/// The oldest and the newest cards of each visited bucket that the audit compares with DynamoDB, of each.
pub const AUDIT_CARDS: usize = 4;
/// The remaining time below which a run of the audit ends.
pub const AUDIT_TIME_LEFT_MIN: Duration = Duration::from_secs(5);
/// Times that the audit compares a feed that differs. Pushes that are under way arrive in between.
pub const AUDIT_LOOKS_MAX: u32 = 4;
/// The time between two comparisons of a feed.
pub const AUDIT_LOOK_EVERY: Duration = Duration::from_millis(500);
/// The remaining time below which an operator's order ends and asks to be repeated.
pub const ADMIN_TIME_LEFT_MIN: Duration = Duration::from_secs(8);
/// Rows of a user who is dropped that are read and removed in one step.
pub const DROP_PAGE: i32 = 500;
/// Relations of one partition that are ended at the same time. DynamoDB takes 500 changes a second in a
/// partition.
pub const DROP_ENDS_AT_ONCE: usize = 8;
/// Receipts of a dropped user's posts that are read at the same time.
pub const DROP_QUERIES_AT_ONCE: usize = 16;
/// The time from the end of a dropped user's last relation until the last rows are removed. Every function
/// that had read the profile before, and could still add a relation, has ended by then.
pub const DROP_SETTLES: Duration = Duration::from_secs(30);
/// The time after which another order may continue a drop whose function died. This is longer than the
/// function can run.
pub const DROP_LEASE: Duration = Duration::from_secs(65);
/// The time that one check of `doctor` may take.
pub const DOCTOR_CHECK: Duration = Duration::from_secs(8);
/// Buckets that each check of Valkey asks. If there are more, the check asks some at even distances.
pub const PROBE_BUCKETS_MAX: usize = 256;
/// Times that a check receives from the queue for checks, until it finds its message.
pub const PROBE_LOOKS_MAX: u32 = 3;
/// How long each of these receives waits.
pub const PROBE_WAIT: Duration = Duration::from_secs(2);
/// How long a receive hides the messages of other checks.
pub const PROBE_HIDES: Duration = Duration::from_secs(1);
/// How long the items of a check stay, if the check dies before it deletes them.
pub const PROBE_ITEM_KEPT: Duration = Duration::from_secs(3_600);
/// Times that an operator's rebuild looks at a feed that another caller is rebuilding. With
/// [`ADMIN_REBUILD_LOOK_EVERY`], this takes longer than a lease.
pub const ADMIN_REBUILD_LOOKS_MAX: u32 = 24;
/// The time between two of these looks.
pub const ADMIN_REBUILD_LOOK_EVERY: Duration = Duration::from_millis(500);
/// Dead letters that one order returns to their queue.
pub const REDRIVE_MAX: usize = 5_000;
/// Different reasons of dead letters that an answer lists. Further ones are counted together.
pub const REDRIVE_REASONS_MAX: usize = 50;
/// Scheduled posts of one user that wait for their time.
pub const SCHEDULED_MAX: u64 = 300;
/// Timers of one user (setting `TIMERS_MAX`).
pub const TIMERS_MAX_DEFAULT: u64 = 1_000;
/// The greatest value of the setting `TIMERS_MAX`.
pub const TIMERS_MAX_MAX: u64 = 10_000;
/// The least time from a request until the publication of the post that it schedules.
pub const SCHEDULE_AHEAD_MIN: Duration = Duration::from_secs(60);
/// The greatest time until a scheduled post is published or a timer is due.
pub const SCHEDULE_AHEAD_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
/// The longest name of a timer, in ASCII characters.
pub const TIMER_NAME_CHARS_MAX: usize = 128;
/// The largest payload of a timer, in bytes of JSON without white space.
pub const TIMER_PAYLOAD_BYTES_MAX: usize = 4 * 1024;
/// The deepest payload of a timer, in arrays and objects. Parsers of JSON read 127 levels, and messages add some of their own.
pub const TIMER_PAYLOAD_DEPTH_MAX: usize = 120;
/// The least time between two occurrences of a timer. The setting `TIMER_EVERY_MIN` may demand a longer one.
pub const EVERY_MIN: Duration = Duration::from_secs(60);
/// The default of the setting `TIMER_EVERY_MIN`.
pub const TIMER_EVERY_MIN_DEFAULT: Duration = Duration::from_secs(60);
/// The greatest value of the setting `TIMER_EVERY_MIN`.
pub const TIMER_EVERY_MIN_MAX: Duration = Duration::from_secs(24 * 3600);
/// The greatest time between two occurrences of a timer.
pub const EVERY_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
/// Parts of the index of due items. DynamoDB takes 1,000 write units a second in each hour of a part.
pub const DUE_PARTS: u16 = 16;
/// How far a look-ahead sees. The schedule runs it every minute, so each item is handed on a minute before its time, also
/// if a run is skipped. SQS delays a message by up to 15 minutes.
pub const DUE_LOOK_AHEAD: Duration = Duration::from_secs(120);
/// How long a look-ahead may take to hand on the items that it has taken. After that, another one takes them.
pub const DUE_LEASE: Duration = Duration::from_secs(30);
/// The time after which an item that was handed on, and is still not done, is handed on again. SQS keeps a message for
/// longer, so this serves items whose message was removed by hand.
pub const DUE_HANDED_ON_LEASE: Duration = Duration::from_secs(3_600);
/// How far ahead Valkey knows all due items, at least.
pub const DUE_HORIZON: Duration = Duration::from_secs(3_600);
/// Items that one call takes from a part of the index.
pub const DUE_BATCH: usize = 200;
/// Entries of a part that a look-ahead hands on from DynamoDB while Valkey does not answer, or one query more. At 500 due
/// items a second, two minutes of a part have 3,750.
pub const DUE_WITHOUT_VALKEY: u64 = 4_000;
/// How long the function `due` leaves Valkey alone after a call that failed.
pub const DUE_VALKEY_PAUSE: Duration = Duration::from_secs(5);
/// How long one function alone may publish or fire an item that is due. If it dies, the next message waits as long.
pub const DUE_FIRING_LEASE: Duration = Duration::from_secs(5);
/// How long a timer whose message was sent, and whose removal met other changes of its owner, is not sent again. Its message
/// is tried again within minutes.
pub const DUE_SENT_KEPT: Duration = Duration::from_secs(600);
/// Tries of the transaction that publishes or removes a due item. It changes the profile of its owner, and many items of one
/// owner may be due at once.
pub const DUE_TRIES_MAX: u32 = 16;
/// Rows of the index of due items that one query reads.
pub const DUE_QUERY_ROWS: i32 = 1_000;
/// The time after which an item that is not done counts as overdue. A look-ahead finds it in DynamoDB and hands it on,
/// even if Valkey does not know it.
pub const DUE_OVERDUE_AFTER: Duration = Duration::from_secs(20);
/// Past hours that each look-ahead checks for overdue items, also if an earlier one found none. The clock of that one
/// may have been wrong.
pub const DUE_CHECK_BACK: Duration = Duration::from_secs(3_600);
/// How far ahead the clock of a look-ahead may be, so that no entry is forgotten. It notes that hours are empty which are
/// not over; so hours later than this are noted one at a time.
pub const DUE_CLOCK_AHEAD_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Overdue entries of a part that a look-ahead reads, or one query more. The others come when these are done.
pub const DUE_OVERDUE_READ: u64 = 10_000;
/// How long an hour of the index must be over before it is checked for the last time. Every request that could add an
/// item to it has ended.
pub const DUE_HOUR_SETTLES: Duration = Duration::from_secs(600);
/// How far back the first look-ahead of a deployment checks.
pub const DUE_FIRST_CHECK: Duration = Duration::from_secs(24 * 3600);
/// The remaining time below which a look-ahead ends.
pub const DUE_TIME_LEFT_MIN: Duration = Duration::from_secs(5);
/// How long it is kept that a scheduled post was published or cancelled.
pub const SCHEDULED_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// The longest name of a board or of a member, in characters.
pub const BOARD_NAME_CHARS_MAX: usize = 128;
/// Boards that one user may have.
pub const BOARDS_MAX: u64 = 100;
/// Users who may change the scores of a board, beside its owner.
pub const BOARD_WRITERS_MAX: usize = 100;
/// The limit of the members of a board, if its owner does not say.
pub const BOARD_LIMIT_DEFAULT: u64 = 100_000;
/// The greatest limit of the members of a board.
pub const BOARD_LIMIT_MAX: u64 = 10_000_000;
/// Days for which a round of a board is kept after its end, if its owner does not say.
pub const BOARD_KEPT_DAYS_DEFAULT: u16 = 30;
/// The most days for which a round of a board is kept after its end.
pub const BOARD_KEPT_DAYS_MAX: u16 = 400;
/// Partition keys of the rows of a round. DynamoDB takes 1,000 write units a second in each of them.
pub const BOARD_PARTS: u8 = 16;
/// How long DynamoDB keeps the revision of a member that was removed.
pub const BOARD_TOMBSTONE_KEPT: Duration = Duration::from_secs(24 * 3600);
/// How long Valkey keeps a copy of a round after it was used last. The next reader makes it again.
pub const BOARD_COPY_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long the first order to copy a board may wait in its queue before a reader sends another one. The first one that arrives
/// is carried out.
pub const BOARD_QUEUED: Duration = Duration::from_secs(120);
/// How long the order to copy the rest of a board may wait in its queue before another function begins to copy it.
pub const BOARD_REST_QUEUED: Duration = Duration::from_secs(600);
/// How long Valkey keeps a copy whose rebuild has not ended.
pub const BOARD_REBUILD_KEPT: Duration = Duration::from_secs(3_600);
/// The time after which a merged board is merged again, if somebody reads it.
pub const BOARD_MERGED_EVERY: Duration = Duration::from_secs(60);
/// How long Valkey keeps a merge after it was made or used last. Readers get it while the next one is being made.
pub const BOARD_MERGED_KEPT: Duration = Duration::from_secs(15 * 60);
/// One use of a copy in this many makes Valkey keep it for longer.
pub const BOARD_KEEP_IN: u64 = 64;
/// Rows of a part that a request reads to make a copy. A round with more rows in a part is copied by a message.
pub const BOARD_ROWS_IN_REQUEST: i32 = 250;
/// The remaining time below which the rebuild of a board, or the removal of its scores, hands the rest on. A rebuild also does
/// so below twice the time of its longest step.
pub const BOARD_TIME_LEFT_MIN: Duration = Duration::from_secs(5);
/// Members that were changed, or that fell out, whose rows one request or message changes at the same time.
pub const BOARD_WRITES_AT_ONCE: usize = 16;
/// Times that a message asks who fell out of a board with a limit, and removes up to a hundred rows. A request does so once.
/// After that, another message does the rest.
pub const BOARD_OUT_ROUNDS_MAX: u32 = 20;
/// Layouts of a deleted board whose copies are removed at once. Copies of earlier ones expire.
pub const BOARD_LAYOUTS_REMOVED: u64 = 10;
/// Tries of an addition to scores. Additions with a key meet on their member; on average a try waits for 320 ms.
pub const BOARD_ADD_TRIES: u32 = 20;
/// Rows that a removal of scores reads and deletes at once.
pub const BOARD_REMOVED_PAGE: i32 = 500;
/// The seconds that a client should wait for a board that is being copied.
pub const BOARD_RETRY_AFTER: Duration = Duration::from_secs(1);
/// The largest body of a request that changes several members, in bytes.
pub const BOARD_BODY_BYTES_MAX: usize = 256 * 1024;
/// Boards that the audit compares in one bucket, and members of each.
pub const AUDIT_BOARDS: usize = 1;
/// The time after which a ranking is made again, if somebody reads it (setting `RANKING_SECONDS`).
pub const RANKING_SECONDS_DEFAULT: Duration = Duration::from_secs(60);
/// The least value of the setting `RANKING_SECONDS`.
pub const RANKING_SECONDS_MIN: Duration = Duration::from_secs(1);
/// The greatest value of the setting `RANKING_SECONDS`.
pub const RANKING_SECONDS_MAX: Duration = Duration::from_secs(300);
/// How long Valkey keeps a snapshot of a ranking after it was made or used last. Readers who page through it need it, and all
/// readers while the next one is being made.
pub const RANKING_KEPT: Duration = Duration::from_secs(15 * 60);
/// The places of a ranking.
pub const RANKING_PLACES_MAX: u64 = 500;
/// Authors with as many likes as the last one of a ranking whose followers are compared, together with those before them.
pub const RANKING_AUTHORS_COMPARED: usize = 2_000;
/// Rows that count the likes of an author.
pub const RANKING_AUTHOR_ROWS: u8 = 16;
/// Days for which the likes of a post on one day are kept, from the beginning of that day: as long as a ranking of a week
/// may count them.
pub const RANKING_DAYS_KEPT: u16 = 9;
/// The most scores of a member of a board.
pub const BOARD_SCORES_MAX: usize = 4;
/// The most members of a board in one request.
pub const BOARD_BATCH_MAX: usize = 100;
/// How long Valkey keeps the revision of a member that was removed from a board. A change that arrives later than this
/// after a newer one may undo it, until the board is rebuilt.
pub const BOARD_REMOVED_KEPT: Duration = Duration::from_secs(3_600);
/// The time within which a rebuild of a board makes its next call. After that, another rebuild may take over.
pub const BOARD_LEASE: Duration = Duration::from_secs(30);
/// Rows that a rebuild adds to a board with one call.
pub const BOARD_LOAD_ROWS: usize = 500;
/// The most boards that are merged into one.
pub const BOARD_MERGE_MAX: usize = 10;
/// How long a webhook may take to answer.
pub const WEBHOOK_ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// How long a webhook that fails is tried again.
pub const WEBHOOK_TRIED_FOR: Duration = Duration::from_secs(24 * 3600);
/// The longest wait of a failed webhook as the same message. SQS delivers nothing more while 120,000 messages of a queue
/// wait in this way, so one that waits longer is sent again as a new message, with a delay.
pub const WEBHOOK_IN_FLIGHT_MAX: Duration = Duration::from_secs(60);
/// Feeds that one run of the sweep removes.
pub const SWEEP_FEEDS_MAX: usize = 50_000;
/// Feeds that one run of the sweep removes to make room on full servers. They take about 50 MB. The last round over the buckets
/// may exceed the limit.
pub const SHED_FEEDS_MAX: usize = 20_000;
/// The time without a read after which a feed is removed to make room.
pub const SHED_IDLE: Duration = Duration::from_secs(3_600);
/// Keys or members that one call of the sweep, or of a removal from a feed, takes.
pub const SWEEP_BATCH: usize = 200;

// Everything that the API's description allows is accepted: a character has at most 4 bytes, an accent 2.
const _: () = assert!(TEXT_GRAPHEMES_MAX * (4 + 2 * ACCENTS_MAX) <= TEXT_BYTES_MAX);
const _: () = assert!(NAME_GRAPHEMES_MAX * (4 + 2 * ACCENTS_MAX) <= NAME_BYTES_MAX);
const _: () = assert!(TEXT_CHARS_MAX * 12 + 100 <= BODY_BYTES_MAX);
// A feed of the default size, with its memory, floor, pending floor and the entry that causes a trim,
// stays a compact list.
const _: () = assert!(FEED_CAP_DEFAULT + 4 <= 128 && trim_to(FEED_CAP_MIN) > 0);
// The largest chunk fits a message.
const _: () = assert!(CHUNK_FOLLOWERS_MAX * 8 * 4 / 3 + 300 < SEND_BATCH_BYTES_MAX);

/// The number of members above which a feed is trimmed. It is lower than `cap`, because most pushes do not
/// check the length.
pub const fn trim_above(cap: usize) -> usize {
    cap - cap / 8
}

/// The number of posts that a trim leaves. One trim makes room for many pushes.
pub const fn trim_to(cap: usize) -> usize {
    cap * 2 / 3
}
