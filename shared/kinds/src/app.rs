//! What every use case works with: the stores, the queues and the settings of a function, made once when it starts.
//!
//! A function may use the tables and queues alone that it lists in the registry, as the template gives it rights on no others.
//! Every use of another one fails with [`StoreError::Unlisted`](fanfold_runtime::StoreError::Unlisted), also in tests.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{
    AUDIT_FEEDS_DEFAULT, AUDIT_FEEDS_MAX, BOARD_ROWS_IN_REQUEST, COMMIT_GRACE, COUNT_DELAY,
    DROP_SETTLES, DUE_BATCH, EVERY_MIN, FOLLOWERS_PER_QUERY, RANKING_SECONDS_DEFAULT,
    RANKING_SECONDS_MAX, RANKING_SECONDS_MIN, TIMER_EVERY_MIN_DEFAULT, TIMER_EVERY_MIN_MAX,
};
use fanfold_core::{FeedId, Slice, Tag, UserId};
use fanfold_engines::due::{Due, DueIndex, Pause};
use fanfold_engines::feed::Feeds;
use fanfold_engines::rank::Copier;
use fanfold_engines::recent::Recent;
use fanfold_engines::table::Tables;
use fanfold_engines::tally::Counts;
use fanfold_engines::valkey::{FeedSettings, RateLimit, Valkey};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::ConfigError;
use fanfold_runtime::sqs::Outbox;
use fanfold_runtime::{Config, StartError};

use crate::boards::items::BoardStore;
use crate::fanout::receipts::ReceiptStore;
use crate::fanout::settings::FanOutSettings;
use crate::feeds::kept::items::KeptStore;
use crate::feeds::kept::settings::KeptSettings;
use crate::feeds::pulled::PulledStore;
use crate::follows::items::GraphStore;
use crate::likes::items::LikeStore;
use crate::people::items::{HeadBounds, UserStore};
use crate::posts::items::PostStore;
use crate::replies::items::ReplyStore;
use crate::scheduled::items::ScheduledStore;
use crate::tags::items::TagStore;
use crate::tags::names::{NamedTag, TagUse, USE_KEPT};
use crate::tags::settings::PublicSettings;
use crate::timers::items::TimerStore;

/// The followers of an author with very many.
const HOT_FOLLOWERS: u64 = 10_000;
/// How long a function remembers that an author has very many followers.
const HOT_KEPT: Duration = Duration::from_secs(600);
/// How long a function remembers that it has noted a late message of a user.
const LATE_KEPT: Duration = Duration::from_secs(10);
/// How long a function keeps the first page of a feed that everybody reads.
const FIRST_PAGE_KEPT: Duration = Duration::from_secs(1);
/// The most first pages that a function keeps. A page of the longest posts has about a megabyte.
const FIRST_PAGES_MAX: usize = 32;
/// Completions, tags, and beginnings of feeds of tags that a function keeps.
const TAGS_KEPT_MAX: usize = 500;
/// Partitions of a large audience that one dispatch reads.
const PARTITIONS_PER_PART: u16 = 8;
/// The most authors of a home feed (those who are followed, and its reader) that is rebuilt within the request. With more, the
/// page is pulled, and the feed is rebuilt through a queue.
const REBUILD_INLINE_AUTHORS: usize = 1_000;
/// Feeds that one run of the sweep removes.
const SWEEP_FEEDS_MAX: u64 = 50_000;

/// The stores, the queues and the settings of a function.
#[derive(Clone)]
pub struct App {
    pub users: UserStore,
    pub posts: PostStore,
    pub receipts: ReceiptStore,
    pub graph: GraphStore,
    pub pulled: PulledStore,
    pub likes: LikeStore,
    pub replies: ReplyStore,
    pub tags: TagStore,
    pub boards: BoardStore,
    pub scheduled: ScheduledStore,
    pub timers: TimerStore,
    pub due_index: DueIndex,
    pub valkey: Valkey,
    pub outbox: Outbox,
    pub limits: Limits,
    pub counts: Counts,
    /// Authors with very many followers, whose newest posts come from their live author feeds: a partition of DynamoDB answers 3,000
    /// reads a second, and so many followers may return at once that their reads of one profile would keep the author from posting.
    pub hot: Recent<UserId>,
    pub kept: KeptStore,
    /// Users of whom a late message was noted.
    pub late: Recent<UserId>,
    /// The first pages of feeds that everybody reads.
    pub first_pages: Recent<FeedId, Arc<dyn Any + Send + Sync>>,
    /// The newest posts of tags that somebody follows, and how many were asked for.
    pub first_slices: Recent<FeedId, (usize, Slice)>,
    /// The tags that begin with a text.
    pub completions: Recent<String, Vec<NamedTag>>,
    /// How tags are used.
    pub tag_uses: Recent<Tag, TagUse>,
    /// Whether due items leave Valkey alone for a while.
    pub pause: Pause,
    pub settings: Settings,
}

/// How often a user may write, and what pages that are pulled may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits([u64; LimitKind::ALL.len()]);

/// The settings of use cases. Tests change those without a name in the environment.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub fanout: FanOutSettings,
    /// Followers that one query of a fan-out reads.
    pub page_followers: i32,
    /// Partitions of a large audience in each part of its fan-out.
    pub partitions_per_part: u16,
    /// The most followed authors with which a home feed is rebuilt at once.
    pub inline_authors: usize,
    /// The bounds of the heads of an author.
    pub head_bounds: HeadBounds,
    /// Followers from which an author's newest posts are read from Valkey first.
    pub hot_followers: u64,
    /// How long feeds are kept (`FEEDS_KEPT_DAYS`).
    pub kept: KeptSettings,
    /// How long posts are in the public feed (`PUBLIC_DAYS`).
    pub public: PublicSettings,
    /// The least time between two occurrences of a timer (`TIMER_EVERY_MIN`).
    pub timer_every_min: Duration,
    /// Whether the operator gave an address for webhooks (`WEBHOOKS_ON`).
    pub webhooks_on: bool,
    /// The most entries that a look-ahead takes from a part at once.
    pub due_batch: usize,
    /// The time after which a snapshot of a ranking is replaced (`RANKING_SECONDS`).
    pub ranking_every: Duration,
    /// Rows of a part that a request reads to make a copy; see [`BOARD_ROWS_IN_REQUEST`].
    pub rows_in_request: i32,
    /// The delay of events about boards: longer than a writer lives.
    pub event_delay: Duration,
    /// How long the removal of a user waits for other functions; see [`DROP_SETTLES`].
    pub drop_settles: Duration,
    /// Feeds that one audit compares (`AUDIT_FEEDS`).
    pub audit_feeds: usize,
    /// A feed that was not read for this long is dropped (`INACTIVE_AFTER`).
    pub inactive_after: Duration,
    /// The most feeds that one run of the sweep drops, and the most `rel` keys that it removes. The last round over the
    /// buckets may exceed the limit.
    pub sweep_feeds_max: u64,
}

impl App {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        Self::over(Valkey::new(sdk, config)?, sdk, config)
    }

    /// The same, over a client of Valkey.
    pub fn over(valkey: Valkey, sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let tables = Tables::new(sdk, config);
        let (users, posts) = (tables.table("USERS_TABLE")?, tables.table("POSTS_TABLE")?);
        let due = tables.table("DUE_TABLE")?;
        let due_index = DueIndex::new(due.clone());
        Ok(Self {
            users: UserStore::new(users.clone(), config)?,
            posts: PostStore::new(posts.clone()),
            receipts: ReceiptStore::new(posts),
            graph: GraphStore::new(tables.table("GRAPH_TABLE")?, config)?,
            pulled: PulledStore::new(users),
            likes: LikeStore::new(tables.table("MARKS_TABLE")?),
            replies: ReplyStore::new(tables.table("MARKS_TABLE")?),
            tags: TagStore::new(tables.table("MARKS_TABLE")?),
            boards: BoardStore::new(tables.table("BOARDS_TABLE")?),
            scheduled: ScheduledStore::new(due.clone(), due_index.clone()),
            timers: TimerStore::new(due, due_index.clone()),
            due_index,
            valkey,
            outbox: Outbox::new(sdk, config)?,
            limits: Limits::read(config)?,
            counts: Counts::after(COUNT_DELAY),
            hot: Recent::of(HOT_KEPT),
            kept: KeptStore::new(tables.table("GRAPH_TABLE")?),
            late: Recent::of(LATE_KEPT),
            first_pages: Recent::at_most(FIRST_PAGES_MAX, FIRST_PAGE_KEPT),
            completions: Recent::at_most(TAGS_KEPT_MAX, USE_KEPT),
            tag_uses: Recent::at_most(TAGS_KEPT_MAX, USE_KEPT),
            first_slices: Recent::at_most(TAGS_KEPT_MAX, FIRST_PAGE_KEPT),
            pause: Pause::default(),
            settings: Settings::read(config)?,
        })
    }
}

impl App {
    /// Another environment of the same function, which remembers nothing of tags yet.
    #[doc(hidden)]
    pub fn forgetful(&self) -> Self {
        Self {
            tags: self.tags.forgetful(),
            first_pages: self.first_pages.forgetful(),
            first_slices: self.first_slices.forgetful(),
            ..self.clone()
        }
    }

    /// Hands on due items.
    pub fn due(&self) -> Due<'_> {
        let Self { due_index: index, valkey, outbox, pause, .. } = self;
        Due { index, valkey, outbox, pause, batch: self.settings.due_batch }
    }

    /// Reads and rebuilds feeds.
    pub fn feeds(&self) -> Feeds<'_, Self> {
        Feeds { valkey: &self.valkey, source: self }
    }

    /// Makes copies in Valkey.
    pub fn copier(&self) -> Copier<'_, Self> {
        let Settings { rows_in_request, .. } = self.settings;
        Copier { valkey: &self.valkey, source: self, rows_in_request }
    }
}

impl Limits {
    fn read(config: &Config) -> Result<Self, ConfigError> {
        let mut limits = [0; LimitKind::ALL.len()];
        for (limit, kind) in limits.iter_mut().zip(LimitKind::ALL) {
            *limit = RateLimit::read(config, *kind)?.per_minute;
        }
        Ok(Self(limits))
    }

    /// The limit of this kind.
    pub fn of(&self, kind: LimitKind) -> RateLimit {
        let known = LimitKind::ALL.iter().zip(self.0).find(|(known, _)| **known == kind);
        RateLimit { kind, per_minute: known.map_or(0, |(_, per_minute)| per_minute) }
    }
}

impl Settings {
    fn read(config: &Config) -> Result<Self, ConfigError> {
        let seconds = |name, default: Duration, least: Duration, most: Duration| {
            let read = config.number(name, default.as_secs(), least.as_secs()..=most.as_secs());
            read.map(Duration::from_secs)
        };
        let (audit_feeds, most) = (AUDIT_FEEDS_DEFAULT as u64, AUDIT_FEEDS_MAX as u64);
        let (every_min, every_max) = (EVERY_MIN, TIMER_EVERY_MIN_MAX);
        Ok(Self {
            fanout: FanOutSettings::read(config)?,
            page_followers: FOLLOWERS_PER_QUERY,
            partitions_per_part: PARTITIONS_PER_PART,
            inline_authors: REBUILD_INLINE_AUTHORS,
            head_bounds: HeadBounds::USUAL,
            hot_followers: HOT_FOLLOWERS,
            kept: KeptSettings::read(config)?,
            public: PublicSettings::read(config)?,
            timer_every_min: seconds(
                "TIMER_EVERY_MIN",
                TIMER_EVERY_MIN_DEFAULT,
                every_min,
                every_max,
            )?,
            webhooks_on: config.number("WEBHOOKS_ON", 0, 0..=1)? == 1,
            due_batch: DUE_BATCH,
            ranking_every: seconds(
                "RANKING_SECONDS",
                RANKING_SECONDS_DEFAULT,
                RANKING_SECONDS_MIN,
                RANKING_SECONDS_MAX,
            )?,
            rows_in_request: BOARD_ROWS_IN_REQUEST,
            event_delay: COMMIT_GRACE,
            drop_settles: DROP_SETTLES,
            audit_feeds: config.number("AUDIT_FEEDS", audit_feeds, 1..=most)? as usize,
            inactive_after: FeedSettings::read(config)?.inactive_after,
            sweep_feeds_max: SWEEP_FEEDS_MAX,
        })
    }
}
