//! Users mark posts (likes, and other marks) and remove marks, posts are deleted, and readers look, while everything goes wrong:
//! messages arrive twice, late and out of order; workers die between any two calls; calls fail with or without effect; and
//! Valkey loses its data or falls back to an older state.
//!
//! A reader who begins after the answer to a mark sees it. No ranking shows a post or an author twice, or in a wrong order. At
//! rest, every acknowledged mark is there, all lists have the same marks, every number is exact, every card equals its item,
//! every ranking has the likes of all posts, and nothing is left of the marks of a deleted post.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::limits::{BOARD_LEASE, BOARD_QUEUED, BOARD_ROWS_IN_REQUEST, CARD_MARK_WITHIN};
use fanfold_core::{PostId, Ranking, Time, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::Error;
use fanfold_kinds::likes::likers;
use fanfold_kinds::marks::{MarkKind, marked, put};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::rankings::{RankingEntry, RankingPage, Shown, page};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use futures::future::LocalBoxFuture;

use super::apps::{Apps, PEOPLE, id, identity, name};
use super::cloud::Cloud;
use super::history::{Checked, History, Kind, Play, TIMEOUT, play_all};
use super::oracle::{self, Marked};
use super::play::{Message, check_cards, handle_within, message};
use super::server::Server;
use crate::harness::dice::Dice;

/// A kind of marks, a user and a post.
type Pair = (MarkKind, UserId, PostId);

/// What a worker did.
pub enum Done {
    Published(Option<PostId>),
    Deleted,
    Listed,
    /// Whether the post has the user's mark now.
    Changed(Pair, bool, Result<(), Error>),
    /// What a reader must see, and what was shown. `None`: the post is gone.
    Read(Pair, u64, Option<bool>),
    /// The pages of a ranking that were shown, and the number of faults of Valkey before them.
    Ranked(u64, Result<RankingPage, Error>),
}

/// What is known of a user's like of a post.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    /// `None`: a request is under way, or had no answer.
    liked: Option<bool>,
    /// The number of requests so far, and of answers.
    changes: u64,
    under_way: u64,
    /// Whether requests overlap, so that either may be the last one.
    overlaps: bool,
    /// Whether the last request had the time to mark the card.
    is_marked: bool,
}

/// What the histories of marks know.
#[derive(Default)]
struct Likes {
    posts: BTreeSet<PostId>,
    /// Posts that somebody deletes, or has deleted.
    deleted: BTreeSet<PostId>,
    known: BTreeMap<Pair, Known>,
    /// Whether Valkey takes every mark in this history, so that readers must see every answered change.
    is_strict: bool,
}

impl History<Likes> {
    fn publish(&mut self) {
        let (apps, user, now) = (self.apps.clone(), *self.dice.pick(&PEOPLE), self.clock());
        let work = async move {
            let publish = fanfold_kinds::posts::publish;
            let post = publish(&apps.app, &identity(user), "text", None, now).await;
            Done::Published(post.ok().map(|shown| shown.post.id))
        };
        self.begin(None, work);
    }

    fn pair(&mut self) -> Option<Pair> {
        let posts: Vec<PostId> = self.kind.posts.iter().copied().collect();
        let (kind, user) = (*self.dice.pick(MarkKind::ALL), *self.dice.pick(&PEOPLE));
        (!posts.is_empty()).then(|| (kind, id(user), *self.dice.pick(&posts)))
    }

    fn change(&mut self, liked: bool) {
        let Some(pair) = self.pair() else { return };
        let (apps, now) = (self.apps.clone(), self.clock());
        let known = self.kind.known.entry(pair).or_default();
        known.changes += 1;
        known.overlaps |= known.under_way > 0;
        known.under_way += 1;
        let (kind, user, post) = pair;
        let work = async move {
            let me = identity(name(user));
            Done::Changed(pair, liked, put(&apps.app, &me, kind, post, liked, now).await)
        };
        self.begin(Some(pair), work);
    }

    fn delete(&mut self) {
        let Some((.., post)) = self.pair() else { return };
        self.kind.deleted.insert(post);
        let (apps, now) = (self.apps.clone(), self.clock());
        let work = async move {
            let (delete, me) = (fanfold_kinds::posts::delete, identity(name(post.author())));
            let _answer = delete(&apps.app, &me, post, now).await;
            Done::Deleted
        };
        self.begin(None, work);
    }

    fn read(&mut self) {
        let Some(pair) = self.pair() else { return };
        let (apps, now) = (self.apps.clone(), self.clock());
        let changes = self.kind.known.get(&pair).map_or(0, |known| known.changes);
        let work = async move {
            let read = fanfold_kinds::posts::read;
            let (kind, user, post) = pair;
            let shown = read(&apps.app, &Viewer::of(user), post, now).await;
            Done::Read(pair, changes, shown.ok().map(|shown| shown.marks.has(kind)))
        };
        self.begin(None, work);
    }

    /// A user reads a list of marks, page by page.
    fn list(&mut self, kind: MarkKind, user: UserId) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let work = async move {
            let (viewer, reading, mut after) = (Viewer::of(user), ReadContext::new(now), None);
            while let Ok(page) = marked(&apps.app, &viewer, kind, after, 2, &reading).await {
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            Done::Listed
        };
        self.begin(None, work);
    }

    /// A reader reads a ranking, page by page.
    fn rank(&mut self) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let (viewer, ranking) = (*self.dice.pick(&PEOPLE), *self.dice.pick(&RANKINGS));
        let faults = self.valkey_faults;
        let work = async move {
            let (viewer, reading) = (Viewer::of(id(viewer)), ReadContext::new(now));
            let mut shown = match page(&apps.app, &viewer, ranking, None, 2, &reading).await {
                Ok(first) => first,
                refused => return Done::Ranked(faults, refused),
            };
            while let Some(after) = shown.next_after {
                let next = page(&apps.app, &viewer, ranking, Some(after), 2, &reading).await;
                match next {
                    // a snapshot that was lost is replaced by another one
                    Ok(next) if next.at == shown.at => {
                        shown.entries.extend(next.entries);
                        shown.next_after = next.next_after;
                    }
                    _ => break,
                }
            }
            Done::Ranked(faults, Ok(shown))
        };
        self.begin(None, work);
    }

    fn note_done(&mut self, number: usize, done: Done) {
        match done {
            Done::Published(post) => self.kind.posts.extend(post),
            Done::Deleted | Done::Listed => {}
            Done::Changed(pair, liked, changed) => {
                let took = self.now.since(self.workers[number].began);
                let known = self.kind.known.entry(pair).or_default();
                known.changes += 1;
                known.under_way -= 1;
                let is_certain = changed.is_ok() && known.under_way == 0 && !known.overlaps;
                known.liked = is_certain.then_some(liked);
                known.overlaps &= known.under_way > 0;
                known.is_marked = took < CARD_MARK_WITHIN;
                let what = match changed {
                    Ok(()) if liked => "likes",
                    Ok(()) => "taken back",
                    Err(_) => "refused",
                };
                self.count(what, true);
            }
            Done::Read(pair, changes, shown) => {
                let known = self.kind.known.get(&pair).copied().unwrap_or_default();
                let is_certain = self.kind.is_strict
                    && known.is_marked
                    && !self.kind.deleted.contains(&pair.2)
                    && known.changes == changes
                    && known.under_way == 0;
                if let (Some(liked), Some(shown), true) = (known.liked, shown, is_certain) {
                    self.count("reads", true);
                    if liked != shown {
                        let (kind, user, post) = pair;
                        let user = name(user);
                        self.fail_with(format!("{user}: {kind:?} of {post}: shown {shown}"));
                    }
                }
            }
            // a snapshot that was lost meanwhile is made again, with the present likes
            Done::Ranked(faults, Ok(_)) if faults < self.valkey_faults => {}
            Done::Ranked(_, Ok(page)) => {
                self.count("ranked", !page.entries.is_empty());
                let places = page.entries.windows(2).all(|two| match two {
                    [one, two] => one.place < two.place && one.count >= two.count,
                    _ => true,
                });
                let mut shown: Vec<String> =
                    page.entries.iter().map(|entry| ranked(entry).0).collect();
                let count = shown.len();
                shown.sort_unstable();
                shown.dedup();
                if !places || shown.len() < count {
                    self.fail_with(format!("a ranking is out of order: {page:?}"));
                }
            }
            Done::Ranked(_, Err(Error::RankingBuilding | Error::Store(_))) => {}
            Done::Ranked(_, Err(error)) => self.fail_with(format!("a ranking: {error:?}")),
        }
    }

    async fn check_all(&mut self) -> Checked {
        self.set_free();
        let (likes, truth) = {
            let cloud = self.apps.cloud.lock();
            (oracle::likes(&cloud)?, oracle::Truth::of(&cloud))
        };
        let is_live = |post: &PostId| truth.posts.get(post) == Some(&true);
        let mut found: BTreeSet<Pair> = BTreeSet::new();
        for kind in MarkKind::ALL {
            let marks = oracle::marks(&self.apps.cloud.lock(), *kind)?;
            if let Some((user, post, _)) = marks.iter().find(|mark| !is_live(&mark.1)) {
                return Err(format!("{kind:?} of {} of {post}, which is gone", name(*user)));
            }
            found.extend(marks.iter().map(|(user, post, _)| (*kind, *user, *post)));
            self.check_list(*kind, &marks).await?;
        }
        for published in truth.posts.values() {
            self.count("gone", !published);
        }
        for (pair, known) in &self.kind.known {
            let Some(liked) = known.liked.filter(|_| is_live(&pair.2)) else { continue };
            if found.contains(pair) != liked {
                let (kind, user, post) = pair;
                return Err(format!("{} was told {kind:?} of {post}: {liked}", name(*user)));
            }
        }
        check_cards(&self.apps, self.now).await?;
        self.check_likers(&likes).await?;
        self.check_rankings(&likes, &truth).await
    }

    /// Each ranking has the likes of all posts that are there, in the right order. No history takes longer than a day.
    async fn check_rankings(&mut self, likes: &BTreeSet<Marked>, truth: &oracle::Truth) -> Checked {
        // a snapshot that no function has begun
        self.now += BOARD_QUEUED + BOARD_LEASE + self.apps.app.settings.ranking_every;
        let (mut posts, mut authors) = (BTreeMap::new(), BTreeMap::new());
        for (_, post, _) in likes.iter().filter(|like| truth.posts.get(&like.1) == Some(&true)) {
            *posts.entry(*post).or_insert(0u64) += 1;
            *authors.entry(post.author()).or_insert(0u64) += 1;
        }
        let mut posts: Vec<(String, u64)> =
            posts.into_iter().map(|(post, likes)| (post.to_string(), likes)).collect();
        posts.sort_by_key(|(_, likes)| std::cmp::Reverse(*likes));
        // nobody follows anybody, so the id decides between authors
        let mut authors: Vec<(String, u64)> =
            authors.into_iter().map(|(author, likes)| (author.to_string(), likes)).collect();
        authors.sort_by_key(|(_, likes)| std::cmp::Reverse(*likes));
        let (viewer, reading) = (Viewer::of(id(PEOPLE[0])), ReadContext::new(self.now));
        let mut rankings = self.apps.app.clone();
        rankings.settings.rows_in_request = BOARD_ROWS_IN_REQUEST;
        for ranking in Ranking::ALL {
            let (mut shown, mut after) = (Vec::new(), None);
            loop {
                let next = page(&rankings, &viewer, ranking, after, 3, &reading).await;
                let next = next.map_err(|error| format!("{ranking}: {error:?}"))?;
                shown.extend(next.entries.iter().map(ranked));
                after = next.next_after;
                if after.is_none() {
                    break;
                }
            }
            let expected = match ranking {
                Ranking::Authors => authors.as_slice(),
                Ranking::PostsDay | Ranking::PostsWeek => posts.as_slice(),
                Ranking::TagsDay => &[],
            };
            if shown != expected {
                return Err(format!("{ranking} is {expected:?}, shown {shown:?}"));
            }
        }
        Ok(())
    }

    /// The list of each user has the marks of posts that are there, newest first, page by page.
    async fn check_list(&self, kind: MarkKind, marks: &BTreeSet<Marked>) -> Checked {
        let (apps, reading) = (&self.apps.app, ReadContext::new(self.now));
        for viewer in PEOPLE.map(id) {
            let own = marks.iter().filter(|mark| mark.0 == viewer);
            let mut expected: Vec<(u64, PostId)> = own.map(|(_, post, at)| (*at, *post)).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            let (mut shown, mut after) = (Vec::new(), None);
            loop {
                let page = marked(apps, &Viewer::of(viewer), kind, after, 2, &reading).await;
                let page = page.map_err(|error| format!("{error:?}"))?;
                if page.items.iter().any(|post| !post.marks.has(kind)) {
                    return Err(format!("{} has {kind:?} of {:?}", name(viewer), page.items));
                }
                shown.extend(page.items.iter().map(|shown| shown.post.id));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let expected: Vec<PostId> = expected.into_iter().map(|(_, post)| post).collect();
            if shown != expected {
                return Err(format!("{}: {kind:?} {expected:?}, shown {shown:?}", name(viewer)));
            }
        }
        Ok(())
    }

    /// The list of those who like a post has its likes, newest first, page by page.
    async fn check_likers(&self, likes: &BTreeSet<Marked>) -> Checked {
        let (apps, reading) = (&self.apps.app, ReadContext::new(self.now));
        for post in &self.kind.posts {
            let mut expected: Vec<(u64, UserId)> =
                likes.iter().filter(|like| like.1 == *post).map(|like| (like.2, like.0)).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            let (mut shown, mut after) = (Vec::new(), None);
            loop {
                let viewer = Viewer::of(post.author());
                let page = match likers(apps, &viewer, *post, after, 1, &reading).await {
                    Err(Error::NoSuchPost(_)) => break,
                    page => page.map_err(|error| format!("{error:?}"))?,
                };
                shown.extend(page.items.iter().map(|seen| seen.card.id));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let expected: Vec<UserId> = expected.into_iter().map(|(_, user)| user).collect();
            if shown != expected {
                return Err(format!("{post} is liked by {expected:?}, shown {shown:?}"));
            }
        }
        Ok(())
    }
}

/// The rankings by likes.
const RANKINGS: [Ranking; 3] = [Ranking::PostsDay, Ranking::PostsWeek, Ranking::Authors];

/// Who or what has a place in a ranking, with the likes.
fn ranked(entry: &RankingEntry) -> (String, u64) {
    let id = match &entry.shown {
        Shown::Post(shown) => shown.post.id.to_string(),
        Shown::Author(author) => author.card.id.to_string(),
        Shown::Tag(named) => named.name.clone(),
    };
    (id, entry.count)
}

impl Kind for Likes {
    type Done = Done;
    type Subject = Option<Pair>;
    type Message = Message;
    /// A ranking reads very many rows at the same time.
    const AT_ONCE: u64 = 8;

    fn receive(history: &mut History<Self>, queue: &str, body: &str, delay: Duration) {
        history.mail.push((history.now + delay, message(queue, body)));
    }

    fn handle(
        history: &History<Self>,
        message: Message,
        now: Time,
        deadline: Deadline,
    ) -> LocalBoxFuture<'static, Outcome<Message>> {
        Box::pin(handle_within(history.apps.clone(), message, now, deadline))
    }

    fn note(history: &mut History<Self>, worker: usize, done: Done) {
        history.note_done(worker, done);
    }

    fn died(history: &mut History<Self>, worker: usize) {
        let subject = history.workers[worker].subject;
        if let Some(pair) = subject {
            let known = history.kind.known.entry(pair).or_default();
            known.changes += 1;
            // nobody may have marked the card after its commit, so the like is not certain again
            known.liked = None;
            known.under_way += 1_000;
        }
    }
}

impl Play for Likes {
    const NAME: &'static str = "likes";

    fn begin(server: &Server, start: &Cloud, seed: u64) -> History<Self> {
        let mut dice = Dice(seed);
        let mut apps = Apps::on(server, &[], RetryConfig::disabled(), dice.one_in(2));
        if dice.one_in(3) {
            // rankings are made by messages
            apps.app.settings.rows_in_request = 1;
        }
        let one_in = [*dice.pick(&[0, 0, 30]), *dice.pick(&[0, 0, 30])];
        let kind = Self { is_strict: one_in[1] == 0, ..Self::default() };
        let history = History::new(apps, start, dice, kind);
        history.set_faults(one_in, seed);
        history
    }

    async fn play(history: &mut History<Self>) {
        history.set_free();
        for _ in 0..4 {
            history.publish();
        }
        history.settle();
        history.set_ordered();
        for _ in 0..700 + history.dice.below(500) {
            match history.dice.below(120) {
                0..7 => history.change(true),
                7..9 => history.change(false),
                9 if history.dice.one_in(3) => history.delete(),
                10 if history.dice.one_in(2) => history.publish(),
                11..20 => history.read(),
                20 if history.dice.one_in(2) => {
                    let kind = *history.dice.pick(MarkKind::ALL);
                    let user = *history.dice.pick(&PEOPLE);
                    history.list(kind, id(user));
                }
                20 => history.rank(),
                other => {
                    let waits = [Duration::from_millis(200), Duration::from_secs(2), TIMEOUT];
                    history.go_on(other.wrapping_sub(21), &waits).await;
                }
            }
            history.settle();
        }
        history.set_faults([0, 0], 0);
        history.rest().await;
        // private marks of posts that are gone are removed by who reads them
        for kind in MarkKind::ALL {
            for user in PEOPLE {
                history.list(*kind, id(user));
            }
        }
        history.rest().await;
    }

    async fn check(history: &mut History<Self>) -> Checked {
        history.check_all().await
    }
}

#[test]
fn likes_are_exact_whatever_goes_wrong() {
    play_all::<Likes>(40, 20, &["likes", "taken back", "refused", "reads", "ranked", "gone"]);
}
