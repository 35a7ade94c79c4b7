//! The actions of a history. (A seed decides the order of single calls.) Actions refer to posts, messages
//! and workers by number, modulo the present count. So a plan without some of its actions still works.

use std::fmt;

use fanfold_core::limits::MEMORY_BEGINS_WITHIN;
use fanfold_core::time::millis;
use fanfold_kinds::fanout::settings::FanOutSettings;

use super::apps::{BUCKETS, PEOPLE};
use crate::harness::dice::Dice;

#[derive(Debug, Clone)]
pub struct Plan {
    /// Decides the order of calls and the times of faults.
    pub seed: u64,
    /// On average, one in this many calls to DynamoDB or SQS has a fault; 0: none.
    pub cloud_fault_in: u64,
    /// On average, one in this many commands to Valkey has a fault; 0: none.
    pub valkey_fault_in: u64,
    /// Pushes to one bucket fail more often than other commands, so that chunks are delivered in part.
    pub push_faults: PushFaults,
    /// The limits between the kinds of fan-out.
    pub fanout: FanOutSettings,
    pub partitions: Partitions,
    pub order: Order,
    /// Whether the functions use Valkey like a cluster. A cluster reads cards by a script, a single node mostly by simple
    /// commands.
    pub is_cluster: bool,
    /// Whether there is a public feed.
    pub is_public: bool,
    pub actions: Vec<Action>,
}

/// The failures of the pushes to one bucket.
#[derive(Debug, Default, Clone, Copy)]
pub struct PushFaults {
    pub bucket: u64,
    /// On average, one in this many pushes to the bucket has a fault; 0: none.
    pub one_in: u64,
}

/// The partitions of an author's followers.
#[derive(Debug, Clone, Copy)]
pub struct Partitions {
    /// The number of partitions of a new author.
    pub first: u16,
    /// The number of followers in each partition before the author gets more partitions.
    pub followers: u64,
    /// The number of partitions that one dispatch of a large audience reads.
    pub per_part: u16,
}

/// The way to choose the next call among the waiting ones.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// At random.
    Random,
    /// Mostly a call of the same worker as before.
    Bursts,
    /// The call of the worker with the highest rank. Sometimes that worker gets the lowest rank.
    Ranks,
}

/// The number of the worker that began last.
pub const NEWEST: usize = usize::MAX;

/// The handle that several users want.
pub const SHARED_HANDLE: &str = "shared";

/// The name of a user, one of [`PEOPLE`].
pub type Name = &'static str;

#[derive(Debug, Clone)]
pub enum Action {
    Publish {
        author: Name,
        key: Option<u8>,
    },
    Delete {
        nth: usize,
    },
    Edit {
        nth: usize,
    },
    /// A reader reads all versions of a post.
    Versions {
        nth: usize,
    },
    Follow {
        follower: Name,
        author: Name,
    },
    Unfollow {
        follower: Name,
        author: Name,
    },
    /// A reader walks down the user's home feed or author feed, page by page.
    Read {
        user: Name,
        author_feed: bool,
        limit: usize,
    },
    /// A reader walks down the feed of a tag.
    ReadTag {
        nth: usize,
        limit: usize,
    },
    /// A reader walks down the list of the user's followers, or of the users that the user follows.
    List {
        user: Name,
        followers: bool,
        limit: usize,
    },
    /// The user changes the name, and takes a handle of their own or one that all want.
    Rename {
        user: Name,
        shared: bool,
    },
    /// A reader looks up the user, by id or by a handle.
    Look {
        user: Name,
        handle: Option<&'static str>,
    },
    /// A message arrives at a function. `again`: it will arrive once more, even if it succeeds. `hurry`:
    /// the function has no time left.
    Arrive {
        nth: usize,
        again: bool,
        hurry: bool,
    },
    /// A worker dies between two steps.
    Kill {
        nth: usize,
    },
    /// A worker makes some calls while all others wait, and is then paused until the end.
    Pause {
        nth: usize,
        calls: usize,
    },
    /// All workers that are not paused finish, and all messages are handled.
    Rush,
    /// Some single calls of any workers.
    Steps {
        count: usize,
    },
    /// Time passes.
    Wait {
        ms: u64,
    },
    /// So much time passes that all present workers die.
    Hours,
    /// So much time passes that all present workers die and messages are late. Then the sweep begins.
    Absence,
    Sweep,
    Audit,
    /// Valkey loses all data.
    Flush,
    ForgetScripts,
    /// The replica copies all data now, and nothing after that.
    Replicate,
    /// The replica becomes the primary.
    FailOver,
    /// The lease of a rebuild ends.
    LeaseEnds {
        user: Name,
    },
    /// Valkey is full and evicts all keys with a time to live.
    Evict,
    /// Valkey is full, and refuses commands that take memory.
    Full,
    /// Valkey has room again.
    Room,
    /// An operator begins a new memory, so that every feed begins again.
    BeginMemory,
}

impl Plan {
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let calm = dice.one_in(3);
        let fault_in = |dice: &mut Dice| if dice.one_in(3) { 15 + dice.below(30) } else { 0 };
        let (cloud_fault_in, valkey_fault_in) = (fault_in(&mut dice), fault_in(&mut dice));
        let order = *dice.pick(&[Order::Random, Order::Bursts, Order::Ranks, Order::Ranks]);
        // fewer users act on the same data more often
        let people = &PEOPLE[..2 + dice.below(3) as usize];
        let (count, pace) = (20 + dice.below(30), 2 + dice.below(20));
        // each history leaves some kinds of actions out, so that the others are close together
        let left_out: Vec<u64> = (0..dice.below(5)).map(|_| dice.below(100)).collect();
        let mut actions = Vec::new();
        if dice.one_in(2) {
            actions.extend(long_feed(&mut dice, people));
        }
        if !dice.one_in(3) {
            actions.extend(ordinary_day(&mut dice, people));
        }
        for _ in 0..count {
            let mut roll = dice.below(100);
            while left_out.iter().any(|left_out| kind(*left_out) == kind(roll)) {
                roll = dice.below(100);
            }
            let action = action(&mut dice, people, roll, calm);
            // a new worker may be paused in the middle of its work
            let pauses = match action {
                Action::Publish { .. } | Action::Edit { .. } | Action::Arrive { .. } => {
                    dice.one_in(4)
                }
                Action::Read { .. }
                | Action::ReadTag { .. }
                | Action::Versions { .. }
                | Action::Follow { .. } => dice.one_in(5),
                _ => false,
            };
            actions.push(action);
            if pauses {
                actions.push(Action::Pause { nth: NEWEST, calls: 1 + dice.below(5) as usize });
            }
            if dice.one_in(2) {
                actions.push(Action::Steps { count: 1 + dice.below(pace) as usize });
            }
        }
        let mut dice = Dice(seed ^ 0xfa3);
        if dice.one_in(4) {
            let at = dice.below(actions.len() as u64 + 1) as usize;
            actions.splice(at..at, acquaintance(&mut dice, people));
        }
        let mut dice = Dice(seed ^ 0xfa5);
        if dice.one_in(5) {
            let at = dice.below(actions.len() as u64 + 1) as usize;
            let end = (at + 3 + dice.below(12) as usize).min(actions.len());
            actions.insert(end, Action::Room);
            actions.insert(at, Action::Full);
        }
        let mut fanout = fanout(&mut Dice(seed ^ 0xfa0));
        let mut partitions = partitions(&mut Dice(seed ^ 0xfa1));
        let push_faults = push_faults(&mut Dice(seed ^ 0xfa2));
        if push_faults.one_in > 0 {
            // a chunk with all followers has users of both buckets
            fanout = FanOutSettings { chunk: 3, small: 0, ..fanout };
            partitions = Partitions { first: 1, followers: 3, ..partitions };
        }
        Self {
            seed,
            cloud_fault_in,
            valkey_fault_in,
            push_faults,
            fanout,
            partitions,
            order,
            is_cluster: Dice(seed ^ 0xfa4).one_in(2),
            is_public: Dice(seed ^ 0xfa6).one_in(3),
            actions,
        }
    }
}

/// The limits are small, so that four users are enough for all kinds of fan-out. In half of the histories,
/// authors with one, two or three followers and more are pulled.
fn fanout(dice: &mut Dice) -> FanOutSettings {
    let (small, bulk) = (dice.below(3), *dice.pick(&[0, 2, 2, 100]));
    let pull = if dice.one_in(2) { 1 + dice.below(3) } else { 0 };
    FanOutSettings { chunk: 1 + dice.below(3) as usize, small, bulk, pull }
}

/// In a third of the histories, one in two to four pushes to one of the two buckets fails.
fn push_faults(dice: &mut Dice) -> PushFaults {
    let one_in = if dice.one_in(3) { 2 + dice.below(3) } else { 0 };
    PushFaults { bucket: dice.below(u64::from(BUCKETS)), one_in }
}

/// A partition has one to three followers, so that an author with a few followers has one to four
/// partitions.
fn partitions(dice: &mut Dice) -> Partitions {
    let first = *dice.pick(&[1, 1, 2]);
    Partitions { first, followers: 1 + dice.below(3), per_part: 1 + dice.below(2) as u16 }
}

/// An author has more posts than a feed holds.
fn long_feed(dice: &mut Dice, people: &[Name]) -> Vec<Action> {
    let author = *dice.pick(people);
    let post = [Action::Publish { author, key: None }, Action::Wait { ms: dice.below(3) }];
    let posts = (0..6 + dice.below(4)).flat_map(|_| post.clone());
    posts.chain([Action::Rush]).collect()
}

/// The user who looks at a user's profile.
pub fn viewer_of(user: Name) -> Name {
    let place = PEOPLE.iter().position(|name| *name == user).unwrap_or_default();
    PEOPLE[(place + 1) % PEOPLE.len()]
}

/// A user looks at a profile, follows or unfollows, and looks again, mostly before the message is handled.
fn acquaintance(dice: &mut Dice, people: &[Name]) -> Vec<Action> {
    let user = *dice.pick(people);
    let (follower, author) = (viewer_of(user), user);
    let change = match dice.one_in(2) {
        true => Action::Follow { follower, author },
        false => Action::Unfollow { follower, author },
    };
    let (look, steps) = (Action::Look { user, handle: None }, Action::Steps { count: 40 });
    vec![Action::Rush, look.clone(), steps.clone(), change, steps.clone(), look, steps]
}

/// Most users follow each other, feeds are live, and Valkey has been running for a while.
fn ordinary_day(dice: &mut Dice, people: &[Name]) -> Vec<Action> {
    let mut actions = Vec::new();
    for follower in people {
        for author in people.iter().filter(|author| *author != follower) {
            if !dice.one_in(3) {
                actions.push(Action::Follow { follower, author });
            }
        }
    }
    actions.push(Action::Rush);
    for user in people {
        let read = |author_feed| Action::Read { user, author_feed, limit: 3 };
        actions.extend([true, false].map(read));
    }
    actions.extend([Action::Rush, Action::Wait { ms: millis(MEMORY_BEGINS_WITHIN) + 5_000 }]);
    actions
}

/// A group of random numbers that lead to similar actions.
fn kind(roll: u64) -> u64 {
    roll / 7
}

/// The action for a random number below 100.
fn action(dice: &mut Dice, people: &[Name], roll: u64, calm: bool) -> Action {
    let user = *dice.pick(people);
    let nth = dice.below(1 << 16) as usize;
    let mut other = *dice.pick(people);
    while other == user {
        other = *dice.pick(people);
    }
    match roll {
        0..20 => Action::Publish { author: user, key: dice.one_in(5).then(|| dice.below(2) as u8) },
        20..33 => Action::Follow { follower: user, author: other },
        33..37 => Action::Unfollow { follower: user, author: other },
        38 if dice.clone().one_in(2) => Action::Versions { nth },
        37..39 => Action::Edit { nth },
        39..42 => Action::Delete { nth },
        42..46 if dice.one_in(3) => {
            Action::List { user, followers: dice.one_in(2), limit: 1 + dice.below(2) as usize }
        }
        46..48 => Action::Rename { user, shared: dice.one_in(2) },
        48..50 => {
            let handle = *dice.pick(&[None, Some(user), Some(SHARED_HANDLE)]);
            Action::Look { user, handle }
        }
        42..56 if dice.clone().one_in(4) => Action::ReadTag { nth, limit: 1 + nth % 4 },
        42..56 => {
            Action::Read { user, author_feed: dice.one_in(5), limit: 1 + dice.below(4) as usize }
        }
        56..73 => Action::Arrive { nth, again: dice.one_in(6), hurry: dice.one_in(4) },
        73..78 => Action::Pause { nth, calls: dice.below(7) as usize },
        78..85 => Action::Rush,
        85..87 => Action::Kill { nth },
        89 => Action::Absence,
        87..90 => Action::Wait { ms: 1 + dice.below(*dice.clone().pick(&[3, 200, 3_000])) },
        90 => Action::Sweep,
        91 => Action::Audit,
        92 if !calm => Action::Hours,
        93 | 94 if !calm => Action::Flush,
        95 if !calm => Action::ForgetScripts,
        96 if !calm => Action::Replicate,
        97 if !calm && dice.one_in(3) => Action::BeginMemory,
        97 if !calm => Action::FailOver,
        99 => Action::Evict,
        98 => Action::LeaseEnds { user },
        _ => Action::Steps { count: 5 + dice.below(30) as usize },
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Publish { author, key: None } => write!(f, "{author} publishes"),
            Action::Publish { author, key: Some(key) } => {
                write!(f, "{author} publishes with key {key}")
            }
            Action::Delete { nth } => write!(f, "post {nth} is deleted"),
            Action::Edit { nth } => write!(f, "post {nth} is edited"),
            Action::Versions { nth } => write!(f, "a reader reads the versions of post {nth}"),
            Action::Follow { follower, author } => write!(f, "{follower} follows {author}"),
            Action::Unfollow { follower, author } => write!(f, "{follower} unfollows {author}"),
            Action::Read { user, author_feed, limit } => {
                let feed = if *author_feed { "author feed" } else { "home feed" };
                write!(f, "a reader reads the {feed} of {user}, {limit} per page")
            }
            Action::ReadTag { nth, limit } => {
                write!(f, "a reader reads the feed of tag {nth}, {limit} per page")
            }
            Action::List { user, followers, limit } => {
                let list = if *followers { "the followers of" } else { "the users followed by" };
                write!(f, "a reader lists {list} {user}, {limit} per page")
            }
            Action::Rename { user, shared } => {
                write!(
                    f,
                    "{user} changes the name{}",
                    if *shared { " and wants the handle" } else { "" }
                )
            }
            Action::Look { user, handle: None } => write!(f, "a reader looks up {user}"),
            Action::Look { handle: Some(handle), .. } => write!(f, "a reader looks up @{handle}"),
            Action::Arrive { nth, again, hurry } => {
                let again = if *again { ", and will arrive again" } else { "" };
                let hurry = if *hurry { ", with no time left" } else { "" };
                write!(f, "message {nth} arrives{again}{hurry}")
            }
            Action::Kill { nth } => write!(f, "worker {nth} dies"),
            Action::Pause { nth: NEWEST, calls } => {
                write!(f, "the newest worker makes {calls} calls and is paused")
            }
            Action::Pause { nth, calls } => {
                write!(f, "worker {nth} makes {calls} calls and is paused")
            }
            Action::Rush => f.write_str("all workers that are not paused finish"),
            Action::Steps { count } => write!(f, "{count} calls"),
            Action::Wait { ms } => write!(f, "{ms} ms pass"),
            Action::Hours => f.write_str("hours pass, and all workers die"),
            Action::Absence => f.write_str("half a minute passes, and the sweep drops idle feeds"),
            Action::Sweep => f.write_str("the sweep drops idle feeds"),
            Action::Audit => f.write_str("the audit compares feeds"),
            Action::Flush => f.write_str("Valkey loses all data"),
            Action::ForgetScripts => f.write_str("Valkey loses its scripts"),
            Action::Replicate => f.write_str("the replica catches up, and lags from now on"),
            Action::FailOver => f.write_str("the replica is promoted"),
            Action::Evict => f.write_str("Valkey evicts all keys with a time to live"),
            Action::Full => f.write_str("Valkey is full"),
            Action::Room => f.write_str("Valkey has room again"),
            Action::BeginMemory => f.write_str("an operator begins a new memory"),
            Action::LeaseEnds { user } => write!(f, "the lease of the rebuild for {user} ends"),
        }
    }
}
