//! What a history does, apart from the order of single calls, which a seed decides. Actions name
//! things by number, modulo what there is, so a plan from which some are taken still has a meaning.

use std::fmt;

use fanfold_core::limits::MEMORY_BEGINS_WITHIN_MS;
use fanfold_store::config::FanOutSettings;

use super::apps::PEOPLE;
use crate::harness::dice::Dice;

#[derive(Debug, Clone)]
pub struct Plan {
    /// Decides the order of calls, and when faults strike.
    pub seed: u64,
    /// One call to DynamoDB or SQS in so many goes wrong; 0: none.
    pub cloud_fault_in: u64,
    /// One command to Valkey in so many goes wrong; 0: none.
    pub valkey_fault_in: u64,
    /// How posts are brought to followers.
    pub fanout: FanOutSettings,
    pub order: Order,
    pub actions: Vec<Action>,
}

/// How the next call is chosen among those that wait.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// Any of them.
    Chance,
    /// Mostly the same worker's as before.
    Bursts,
    /// That of whoever ranks highest; now and then somebody falls to the end.
    Ranks,
}

/// Whoever began last.
pub const NEWEST: usize = usize::MAX;

pub type Who = &'static str;

#[derive(Debug, Clone)]
pub enum Action {
    Publish {
        who: Who,
        key: Option<u8>,
    },
    Delete {
        nth: usize,
    },
    Follow {
        who: Who,
        whom: Who,
    },
    Unfollow {
        who: Who,
        whom: Who,
    },
    /// Walks down a home feed (or an author feed), page by page.
    Read {
        who: Who,
        author: bool,
        limit: usize,
    },
    /// A message arrives; `again`: it will once more, though it is handled.
    Arrive {
        nth: usize,
        again: bool,
        hurry: bool,
    },
    /// Somebody dies between two steps.
    Kill {
        nth: usize,
    },
    /// A worker makes so many calls, alone, and then stands still until the end.
    Pause {
        nth: usize,
        calls: usize,
    },
    /// Everyone else gets done with what there is.
    Rush,
    /// Single calls of whoever is at work, in any order.
    Steps {
        count: usize,
    },
    /// Time passes for those who wait.
    Wait {
        ms: u64,
    },
    /// So long that nobody who is at work now lives to see it.
    Hours,
    Sweep,
    Audit,
    /// Valkey loses all of its data.
    Flush,
    ForgetScripts,
    /// The replica gets all there is, and from then on nothing.
    Replicate,
    /// It is promoted.
    FailOver,
    /// The lease of a rebuild ends.
    LeaseEnds {
        who: Who,
    },
    /// Valkey is full, and drops what has a time to live.
    Evict,
    /// An operator lets every feed begin again.
    BeginMemory,
}

impl Plan {
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let calm = dice.one_in(3);
        let fault_in = |dice: &mut Dice| if dice.one_in(3) { 15 + dice.below(30) } else { 0 };
        let (cloud_fault_in, valkey_fault_in) = (fault_in(&mut dice), fault_in(&mut dice));
        let order = *dice.pick(&[Order::Chance, Order::Bursts, Order::Ranks, Order::Ranks]);
        // few people meet more often
        let people = &PEOPLE[..2 + dice.below(3) as usize];
        let (count, pace) = (20 + dice.below(30), 2 + dice.below(20));
        // each history leaves some kinds of action out, so that others come close together
        let left_out: Vec<u64> = (0..dice.below(5)).map(|_| dice.below(100)).collect();
        let mut actions = Vec::new();
        if dice.one_in(2) {
            actions.extend(a_past(&mut dice, people));
        }
        if !dice.one_in(3) {
            actions.extend(ordinary_day(&mut dice, people));
        }
        for _ in 0..count {
            let mut throw = dice.below(100);
            while left_out.iter().any(|left_out| kind(*left_out) == kind(throw)) {
                throw = dice.below(100);
            }
            let action = action(&mut dice, people, throw, calm);
            // who just began may stop in the middle of it
            let begun = match action {
                Action::Publish { .. } | Action::Arrive { .. } => dice.one_in(4),
                Action::Read { .. } | Action::Follow { .. } => dice.one_in(5),
                _ => false,
            };
            actions.push(action);
            if begun {
                actions.push(Action::Pause { nth: NEWEST, calls: 1 + dice.below(5) as usize });
            }
            if dice.one_in(2) {
                actions.push(Action::Steps { count: 1 + dice.below(pace) as usize });
            }
        }
        let fanout = fanout(&mut Dice(seed ^ 0xfa0));
        Self { seed, cloud_fault_in, valkey_fault_in, fanout, order, actions }
    }
}

/// Small enough that all ways are taken among four people; in every other history authors may be
/// pulled, from one to three followers on.
fn fanout(dice: &mut Dice) -> FanOutSettings {
    let (small, bulk) = (dice.below(3), *dice.pick(&[0, 2, 2, 100]));
    let pull = if dice.one_in(2) { 1 + dice.below(3) } else { 0 };
    FanOutSettings { chunk: 1 + dice.below(2) as usize, small, bulk, pull }
}

/// Somebody has more posts than a feed holds.
fn a_past(dice: &mut Dice, people: &[Who]) -> Vec<Action> {
    let who = *dice.pick(people);
    let post = [Action::Publish { who, key: None }, Action::Wait { ms: dice.below(3) }];
    let posts = (0..6 + dice.below(4)).flat_map(|_| post.clone());
    posts.chain([Action::Rush]).collect()
}

/// Most follow most, feeds are live, and Valkey has been up for a while.
fn ordinary_day(dice: &mut Dice, people: &[Who]) -> Vec<Action> {
    let mut actions = Vec::new();
    for who in people {
        for whom in people.iter().filter(|whom| *whom != who) {
            if !dice.one_in(3) {
                actions.push(Action::Follow { who, whom });
            }
        }
    }
    actions.push(Action::Rush);
    for who in people {
        actions.extend([true, false].map(|author| Action::Read { who, author, limit: 3 }));
    }
    actions.extend([Action::Rush, Action::Wait { ms: MEMORY_BEGINS_WITHIN_MS + 5_000 }]);
    actions
}

/// Throws of the same kind lead to actions of the same kind, more or less.
fn kind(throw: u64) -> u64 {
    throw / 7
}

fn action(dice: &mut Dice, people: &[Who], throw: u64, calm: bool) -> Action {
    let who = *dice.pick(people);
    let nth = dice.below(1 << 16) as usize;
    let mut other = *dice.pick(people);
    while other == who {
        other = *dice.pick(people);
    }
    match throw {
        0..20 => Action::Publish { who, key: dice.one_in(5).then(|| dice.below(2) as u8) },
        20..33 => Action::Follow { who, whom: other },
        33..39 => Action::Unfollow { who, whom: other },
        39..42 => Action::Delete { nth },
        42..56 => Action::Read { who, author: dice.one_in(5), limit: 1 + dice.below(4) as usize },
        56..73 => Action::Arrive { nth, again: dice.one_in(6), hurry: dice.one_in(4) },
        73..78 => Action::Pause { nth, calls: dice.below(7) as usize },
        78..85 => Action::Rush,
        85..87 => Action::Kill { nth },
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
        98 => Action::LeaseEnds { who },
        _ => Action::Steps { count: 5 + dice.below(30) as usize },
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Publish { who, key: None } => write!(f, "{who} publishes"),
            Action::Publish { who, key: Some(key) } => write!(f, "{who} publishes with key {key}"),
            Action::Delete { nth } => write!(f, "post {nth} is deleted"),
            Action::Follow { who, whom } => write!(f, "{who} follows {whom}"),
            Action::Unfollow { who, whom } => write!(f, "{who} unfollows {whom}"),
            Action::Read { who, author: false, limit } => {
                write!(f, "{who} reads their home feed, {limit} a page")
            }
            Action::Read { who, author: true, limit } => {
                write!(f, "somebody reads {who}'s posts, {limit} a page")
            }
            Action::Arrive { nth, again, hurry } => {
                let (again, hurry) = (if *again { ", not for the last time" } else { "" }, *hurry);
                write!(
                    f,
                    "message {nth} arrives{again}{}",
                    if hurry { ", time is short" } else { "" }
                )
            }
            Action::Kill { nth } => write!(f, "worker {nth} dies"),
            Action::Pause { nth: NEWEST, calls } => {
                write!(f, "it makes {calls} calls and stands still")
            }
            Action::Pause { nth, calls } => {
                write!(f, "worker {nth} makes {calls} calls and stands still")
            }
            Action::Rush => f.write_str("everyone else gets done"),
            Action::Steps { count } => write!(f, "{count} calls"),
            Action::Wait { ms } => write!(f, "{ms} ms pass"),
            Action::Hours => f.write_str("hours pass, and all who are at work die"),
            Action::Sweep => f.write_str("the sweep drops what nobody read"),
            Action::Audit => f.write_str("the audit compares feeds"),
            Action::Flush => f.write_str("Valkey loses all data"),
            Action::ForgetScripts => f.write_str("Valkey loses its scripts"),
            Action::Replicate => f.write_str("the replica catches up, and lags from now on"),
            Action::FailOver => f.write_str("the replica is promoted"),
            Action::Evict => f.write_str("Valkey drops what has a time to live"),
            Action::BeginMemory => f.write_str("an operator begins a new memory"),
            Action::LeaseEnds { who } => write!(f, "the lease of {who}'s rebuild ends"),
        }
    }
}
