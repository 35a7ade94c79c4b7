//! The bounds that users of the API meet, those with a setting, and those that several files use. A bound that one file uses
//! stands in that file. Memory and timeouts of functions are in `infra/template.yaml`.

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
/// What a post has beside its text (data and attachments), in bytes of JSON without white space.
pub const EXTRAS_BYTES_MAX: usize = 8 * 1024;
/// How deep the data of an app may be nested: so little that parsers with low limits read it as a part of a page.
pub const DATA_LEVELS_MAX: usize = 32;
/// The attachments of a post.
pub const ATTACHMENTS_MAX: usize = 8;
/// The longest description of an attachment, in grapheme clusters.
pub const ALT_GRAPHEMES_MAX: usize = 1_000;
/// The greatest width and height of an attachment, in pixels.
pub const PIXELS_MAX: u32 = 100_000;
/// The longest URL of an attachment or a link, in characters.
pub const URL_CHARS_MAX: usize = 2_048;
/// The links of a profile.
pub const LINKS_MAX: usize = 4;
/// The data of a profile, in bytes of JSON without white space.
pub const PROFILE_DATA_BYTES_MAX: usize = 2 * 1024;
/// Accents on one character that the API's description allows. The functions accept more, up to
/// [`GRAPHEME_CHARS_MAX`] code points. A text or name of the longest characters, each with this many
/// accents, is within the limit of its bytes.
pub const ACCENTS_MAX: usize = 2;
/// The largest request body in bytes: the longest text with every byte escaped, and what a post has beside it, with its white space.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// The longest path and query of a request, in bytes. The gateway accepts 10 KiB with all headers.
pub const URI_BYTES_MAX: usize = 16 * 1024;
/// The longest `Idempotency-Key`, in ASCII characters.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// Items of a page, if the request has no `limit`.
pub const PAGE_ITEMS_DEFAULT: usize = 20;
/// The largest `limit` of a page.
pub const PAGE_ITEMS_MAX: usize = 100;
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
/// Queries that a pulled page counts as, at least, because it reads posts and users, too.
pub const PULL_QUERIES_MIN: u64 = 100;
/// The versions of a post that is edited.
pub const VERSIONS_MAX: u64 = 100;
/// The posts above a reply that are stored with it, and shown in its context.
pub const ANCESTORS_MAX: usize = 40;
/// How long Valkey keeps the posts that a pull below the floor of a home feed has merged.
pub const OLDER_KEPT: Duration = Duration::from_secs(120);
/// The time after which no request can commit a post of an earlier time: the life of a function that answers requests, and the
/// difference of two clocks.
pub const OLDER_SETTLES: Duration = Duration::from_secs(12);
/// The time without a read after which a feed is removed from Valkey (setting `INACTIVE_AFTER`).
pub const INACTIVE_AFTER_DEFAULT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Days for which feeds that are dropped are kept in DynamoDB (setting `FEEDS_KEPT_DAYS`; 0: they are not kept).
pub const FEEDS_KEPT_DAYS_DEFAULT: u64 = 0;
/// The greatest value of `FEEDS_KEPT_DAYS`.
pub const FEEDS_KEPT_DAYS_MAX: u64 = 365;

/// Memory that cards may take in Valkey, in MiB (setting `CARD_MEMORY`).
pub const CARD_MEMORY_DEFAULT: u64 = 128;
/// The greatest value of `CARD_MEMORY`.
pub const CARD_MEMORY_MAX: u64 = 1_000_000;
/// The unit in which the memory of cards is counted, in bytes. The card of a short post takes one.
pub const CARD_UNIT_BYTES: usize = 320;
/// How long a card is kept, at most.
pub const CARD_KEPT: Duration = Duration::from_secs(3_600);
/// How long a reader may take to read the item of a card while others wait. After that, another reader reads it.
pub const CARD_LEASE: Duration = Duration::from_millis(500);
/// How long a bucket may take to answer a read or a fill of cards. After that, the items are read from DynamoDB.
pub const CARD_ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// How long a writer waits until its mark of stale cards is answered. After that, the event of the change marks them.
pub const CARD_MARK_WITHIN: Duration = Duration::from_secs(1);

/// Days for which posts are in the public feed (setting `PUBLIC_DAYS`; 0: there is no public feed).
pub const PUBLIC_DAYS_DEFAULT: u64 = 0;
/// The greatest value of `PUBLIC_DAYS`.
pub const PUBLIC_DAYS_MAX: u64 = 365;
/// Tags that one user may follow. A page of their posts reads the feed of each.
pub const FOLLOWED_TAGS_MAX: usize = 50;
/// Different tags that the versions of a post may have. The feeds of all of them are brought up to date with each edit.
pub const TAGS_EVER_MAX: usize = 60;
/// Tags that a completion returns.
pub const TAG_NAMES_MAX: usize = 10;
/// The newest posts of a tag that are counted to tell how it is used.
pub const TAG_POSTS_COUNTED_MAX: usize = 1_000;
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
/// The time from the first change of an author's followers until they are counted. One count serves all
/// changes of that time.
pub const COUNT_DELAY: Duration = Duration::from_secs(1);
/// Counts that one environment of a function requests in each [`COUNT_DELAY`] while a full server cannot remember that they
/// were requested.
pub const COUNTS_UNNOTED_MAX: usize = 10;
/// Likes that the card of a viewer has: those of the newest posts. Older posts are looked up in DynamoDB.
pub const MARKS_CARD_MAX: usize = 200;
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
/// The most authors that are pulled at the same time. A home feed has a pointer to each that its owner
/// follows.
pub const PULLED_AUTHORS_MAX: usize = 32;
/// Partitions that are read at the same time.
pub const PARTITIONS_AT_ONCE: usize = 4;

/// Messages that SQS takes in one call.
pub const SEND_BATCH_MAX: usize = 10;
/// Bytes of bodies that are sent to SQS in one call.
pub const SEND_BATCH_BYTES_MAX: usize = 250 * 1024;
/// Tries after which SQS moves a message to the dead-letter queue (setting `QUEUE_TRIES`).
pub const QUEUE_TRIES_DEFAULT: u64 = 10;
/// The greatest value of `QUEUE_TRIES`, and the greatest that SQS accepts.
pub const QUEUE_TRIES_MAX: u64 = 1_000;
/// Times that a message is requeued because a store does not answer, before it becomes a dead letter. With
/// default settings this takes about six weeks.
pub const REQUEUES_MAX: u64 = 2_000;
/// The longest delay that SQS accepts for a message that is sent.
pub const SEND_DELAY_MAX: Duration = Duration::from_secs(900);
/// Tries of a call that DynamoDB or SQS carried out in part, and of a change that met another one.
pub const TRIES_MAX: u32 = 8;
/// Calls of one invocation that are under way at the same time, where no other bound applies.
pub const CONCURRENCY: usize = 32;

/// How long Valkey remembers a change of a relation, at least. The sweep then removes it, and
/// older messages read the relation from DynamoDB.
pub const REL_KEPT: Duration = Duration::from_secs(3_600);
/// How long the tombstone of a deleted post stays. A message that is requeued again and again can
/// live longer, about six weeks. This does no harm: a post that is missing after [`COMMIT_GRACE`] counts
/// as never committed, and the message is done.
pub const POST_TOMBSTONE_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
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
/// Times that a command is sent again after the server throttled it. All pauses together take at most 1.1 s:
/// a cache needs minutes to double its capacity, and a message should wait in its queue.
pub const VALKEY_THROTTLED_TRIES_MAX: u32 = 4;

/// How long the lease of a rebuild is held. After that another caller may rebuild the feed.
pub const REBUILD_LEASE: Duration = Duration::from_secs(10);
/// The time that is added to the caller's time to give the time of a new memory: the script that begins
/// it runs within this time, because functions for requests and messages live no longer. Pushes whose
/// followers were read before that time read the relations from DynamoDB.
// mutation: memory-begins
pub const MEMORY_BEGINS_WITHIN: Duration = Duration::from_secs(20);
/// The time by which the clocks of two functions may differ.
pub const CLOCKS_DIFFER: Duration = Duration::from_secs(2);

/// Live feeds that one run of the audit compares with a pull (setting `AUDIT_FEEDS`).
pub const AUDIT_FEEDS_DEFAULT: usize = 50;
/// The remaining time below which an operator's order ends and asks to be repeated.
pub const ADMIN_TIME_LEFT_MIN: Duration = Duration::from_secs(8);
/// Rows of a user who is dropped that are read and removed in one step.
pub const DROP_PAGE: i32 = 500;
/// Receipts of a dropped user's posts that are read at the same time.
pub const DROP_QUERIES_AT_ONCE: usize = 16;
/// The time from the end of a dropped user's last relation until the last rows are removed. Every function
/// that had read the profile before, and could still add a relation, has ended by then.
pub const DROP_SETTLES: Duration = Duration::from_secs(30);
/// The time after which another order may continue a drop whose function died. This is longer than the
/// function can run.
pub const DROP_LEASE: Duration = Duration::from_secs(65);
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
/// Items that one call takes from a part of the index.
pub const DUE_BATCH: usize = 200;
/// How long one function alone may publish or fire an item that is due. If it dies, the next message waits as long.
pub const DUE_FIRING_LEASE: Duration = Duration::from_secs(5);
/// Tries of the transaction that publishes or removes a due item. It changes the profile of its owner, and many items of one
/// owner may be due at once.
pub const DUE_TRIES_MAX: u32 = 16;
/// Rows of the index of due items that one query reads.
pub const DUE_QUERY_ROWS: i32 = 1_000;
/// The time after which an item that is not done counts as overdue. A look-ahead finds it in DynamoDB and hands it on,
/// even if Valkey does not know it.
pub const DUE_OVERDUE_AFTER: Duration = Duration::from_secs(20);
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
/// The largest body of a request that changes several members, in bytes.
pub const BOARD_BODY_BYTES_MAX: usize = 256 * 1024;
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
/// How long a webhook that fails is tried again.
pub const WEBHOOK_TRIED_FOR: Duration = Duration::from_secs(24 * 3600);
/// The longest wait of a failed webhook as the same message. SQS delivers nothing more while 120,000 messages of a queue
/// wait in this way, so one that waits longer is sent again as a new message, with a delay.
pub const WEBHOOK_IN_FLIGHT_MAX: Duration = Duration::from_secs(60);
/// The time without a read after which a feed is removed to make room.
pub const SHED_IDLE: Duration = Duration::from_secs(3_600);
/// Keys or members that one call of the sweep, or of a removal from a feed, takes.
pub const SWEEP_BATCH: usize = 200;
/// The greatest value of `AUDIT_FEEDS`.
pub const AUDIT_FEEDS_MAX: usize = 1_000;
/// The least value of `QUEUE_TRIES`. A poll that Lambda throttles counts as a try, so with fewer tries,
/// messages that no function has received could become dead letters.
pub const QUEUE_TRIES_MIN: u64 = 5;
/// The seconds that a client should wait for a board that is being copied.
pub const BOARD_RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long it is kept that a scheduled post was published or cancelled.
pub const SCHEDULED_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

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
