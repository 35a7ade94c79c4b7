//! The expected content of feeds, computed directly from the items of the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fanfold_core::kinds::ItemKind;
use fanfold_core::{FeedId, FeedKind, PostId, TagHash, Time, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::home::{self, Of, Span};
use fanfold_kinds::marks::MarkKind;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::tags::names::NamedTag;
use serde_json::Value;

use super::apps::{Apps, BOARDS, GRAPH, MARKS, PEOPLE, POSTS, USERS, id};
use super::cloud::Cloud;
use super::expression::Item;
use super::play::feed_of;

/// The posts and relations in the tables, read without the code under test.
#[derive(Default, Clone)]
pub struct Truth {
    /// Every post, and whether it is published and not deleted.
    pub posts: BTreeMap<PostId, bool>,
    /// The tags in the text of each post, in lower case.
    pub tags: BTreeMap<PostId, BTreeSet<String>>,
    /// The posts that are replies.
    pub replies: BTreeSet<PostId>,
    /// Pairs of a follower and an author.
    pub follows: BTreeSet<(UserId, UserId)>,
}

fn text(value: &Value) -> &str {
    value["S"].as_str().unwrap_or_default()
}

impl Truth {
    pub fn of(cloud: &Cloud) -> Self {
        let mut truth = Self::default();
        for item in cloud.items(POSTS).filter(|item| !text(&item["pk"]).contains('#')) {
            let post = text(&item["sk"]).parse().expect("a post id");
            truth.posts.insert(post, !item.contains_key("deleted_at_ms"));
            let words = item.get("text").map_or("", text).split_whitespace();
            let tags = words.filter_map(|word| Some(word.strip_prefix('#')?.to_lowercase()));
            truth.tags.insert(post, tags.collect());
            if item.contains_key("above") {
                truth.replies.insert(post);
            }
        }
        for item in cloud.items(GRAPH) {
            if let Some(follower) = text(&item["pk"]).strip_prefix("following#")
                && text(&item["relation"]) == "following"
            {
                let author = text(&item["sk"]).parse().expect("an id");
                truth.follows.insert((follower.parse().expect("an id"), author));
            }
        }
        truth
    }

    /// Whether an author's posts belong in a reader's home feed.
    pub fn sees(&self, reader: UserId, author: UserId) -> bool {
        reader == author || self.follows.contains(&(reader, author))
    }

    /// The posts of a reader's home feed, newest first.
    pub fn home(&self, reader: UserId) -> Vec<PostId> {
        let posts = self.posts.iter().rev();
        let posts =
            posts.filter(|(post, published)| **published && self.sees(reader, post.author()));
        posts.map(|(post, _)| *post).collect()
    }

    /// Whether the text of a post has the tag of this feed, or the post belongs in the public feed.
    pub fn has_tag(&self, post: PostId, feed: FeedId) -> bool {
        if feed.kind == FeedKind::Public {
            return !self.replies.contains(&post);
        }
        self.tags.get(&post).is_some_and(|tags| tags.iter().any(|tag| feed_of(tag) == feed))
    }

    /// The posts of a tag feed, newest first.
    pub fn tagged(&self, feed: FeedId) -> Vec<PostId> {
        let posts = self.posts.iter().rev();
        let posts = posts.filter(|(post, published)| **published && self.has_tag(**post, feed));
        posts.map(|(post, _)| *post).collect()
    }

    /// The posts of an author feed, newest first.
    pub fn author(&self, author: UserId) -> Vec<PostId> {
        let posts = self.posts.iter().rev();
        let posts = posts.filter(|(post, published)| **published && post.author() == author);
        posts.map(|(post, _)| *post).collect()
    }
}

/// Checks that the rows of these feeds, and the uses of tags, are those of the published posts whose text has the tag. Returns the
/// number of rows.
pub fn check_tags(cloud: &Cloud, feeds: &[FeedId]) -> Result<u64, String> {
    let truth = Truth::of(cloud);
    let [mut rows, mut uses] = [const { BTreeSet::<(String, PostId)>::new() }; 2];
    for item in cloud.items(MARKS) {
        let (pk, sk) = (text(&item["pk"]), text(&item["sk"]));
        if let Some(tag) = ItemKind::Tagged.owner(pk) {
            rows.insert((tag[..16].to_owned(), parsed(sk)));
        }
        match ItemKind::of(pk) {
            Some(ItemKind::TagUse) => {
                uses.insert((sk[..16].to_owned(), parsed(&sk[34..])));
            }
            // a table at its limit refuses rows of every tag, and more parts would not help
            Some(ItemKind::Tag) => return Err(format!("a rare tag has {sk} parts")),
            _ => {}
        }
    }
    let expected = feeds.iter().flat_map(|feed| {
        truth.tagged(*feed).into_iter().map(|post| (feed.owner.to_string(), post))
    });
    let expected: BTreeSet<_> = expected.collect();
    if rows != expected {
        return Err(format!("the rows of tags are {rows:?}, not {expected:?}"));
    }
    let public = FeedId::tag(TagHash::PUBLIC).owner.to_string();
    let of_tags: BTreeSet<_> = rows.iter().filter(|(tag, _)| *tag != public).cloned().collect();
    match uses == of_tags {
        true => Ok(rows.len() as u64),
        false => Err(format!("the uses of tags are {uses:?}, the rows {rows:?}")),
    }
}

/// Checks that the receipt of each post says that all followers have it, and counts no follower twice in a
/// partition. (A user who unfollows and follows again may join another partition.)
pub fn check_receipts(cloud: &Cloud, posts: &BTreeSet<PostId>) -> Result<(), String> {
    let truth = Truth::of(cloud);
    let (mut complete, mut counted) = (BTreeSet::new(), BTreeMap::<(PostId, &str), u64>::new());
    for item in cloud.items(POSTS) {
        let Some(post) = text(&item["pk"]).strip_prefix("receipt#") else { continue };
        let post: PostId = post.parse().expect("a post id");
        if item.contains_key("completed_at_ms") {
            complete.insert(post);
        }
        for name in ["delivered", "not_live", "unfollowed"] {
            let count = item.get(name).and_then(|value| value["N"].as_str());
            *counted.entry((post, text(&item["sk"]))).or_default() +=
                count.map_or(0, |n| n.parse().expect("a number"));
        }
    }
    let published = |post: &&PostId| truth.posts.get(post) == Some(&true);
    if let Some(post) = posts.iter().filter(published).find(|post| !complete.contains(post)) {
        return Err(format!("the receipt of {post} does not say that all followers have it"));
    }
    match counted.iter().find(|(_, count)| **count >= PEOPLE.len() as u64) {
        Some(((post, _), count)) => Err(format!("the receipt of {post} counts {count} followers")),
        None => Ok(()),
    }
}

/// A mark: its user, its post and its time in ms.
pub type Marked = (UserId, PostId, u64);

/// The marks of a kind in the tables. The list of each user must have the same marks.
pub fn marks(cloud: &Cloud, kind: MarkKind) -> Result<BTreeSet<Marked>, String> {
    let spec = kind.spec();
    let [mut marks, mut rows] = [const { BTreeSet::new() }; 2];
    for item in cloud.items(MARKS) {
        let (pk, sk) = (text(&item["pk"]), text(&item["sk"]));
        if let Some(user) = spec.by_post.owner(pk) {
            marks.insert((parsed(user), parsed(sk), number(item.get("marked_at_ms")) as u64));
        }
        if let Some(user) = spec.by_time.owner(pk) {
            let (at, post) = sk.split_once('#').expect("a time");
            rows.insert((parsed(user), parsed(post), parsed(at)));
        }
    }
    match marks == rows {
        true => Ok(marks),
        false => Err(format!("{kind:?}: marks {marks:?}, lists {rows:?}")),
    }
}

fn parsed<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} has another form"))
}

fn number(value: Option<&Value>) -> i64 {
    value.and_then(|value| value["N"].as_str()).map_or(0, parsed)
}

/// Checks the marks of every kind.
pub fn check_marks(cloud: &Cloud) -> Result<(), String> {
    for kind in MarkKind::ALL {
        marks(cloud, *kind)?;
    }
    likes(cloud).map(drop)
}

/// The likes in the tables. The lists of those who like a post must have the same likes, and the rows that count must count
/// them. The items of the posts must have these numbers, and a post that is gone has no rows.
pub fn likes(cloud: &Cloud) -> Result<BTreeSet<Marked>, String> {
    let (likes, mut likers) = (marks(cloud, MarkKind::Like)?, BTreeSet::new());
    let mut counts = BTreeMap::<PostId, i64>::new();
    for item in cloud.items(MARKS) {
        let (pk, sk) = (text(&item["pk"]), text(&item["sk"]));
        let post = |of: &str| parsed::<PostId>(of.split_once('#').expect("a part").0);
        if let Some(of) = ItemKind::Liker.owner(pk) {
            let (at, user) = sk.split_once('#').expect("a time");
            likers.insert((parsed(user), post(of), parsed(at)));
        }
        if let Some(of) = ItemKind::LikeCount.owner(pk) {
            *counts.entry(post(of)).or_default() += number(item.get("counted"));
        }
    }
    if likes != likers {
        return Err(format!("likes {likes:?}, likers {likers:?}"));
    }
    let truth = Truth::of(cloud);
    let live = truth.posts.iter().filter(|(_, published)| **published).map(|(post, _)| *post);
    for of in likes.iter().map(|(_, of, _)| *of).chain(live) {
        counts.entry(of).or_default();
    }
    for (of, count) in counts {
        let all = likes.iter().filter(|(_, post, _)| *post == of).count() as i64;
        if truth.posts.get(&of) != Some(&true) {
            return Err(format!("{of} is gone, and has {all} likes and a count of {count}"));
        }
        let (author, sk) = (of.author().to_string(), of.to_string());
        let mut items = cloud.items(POSTS);
        let item = items.find(|item| text(&item["pk"]) == author && text(&item["sk"]) == sk);
        let shown = number(item.expect("the post").get("likes"));
        if (count, shown) != (all, all) {
            return Err(format!("{of} has {all} likes, the rows count {count}, the post {shown}"));
        }
    }
    check_rankings(cloud, &likes, &truth)?;
    Ok(likes)
}

/// Checks that the rows of rankings have these likes: those of each post by hour, and those of each author. No history takes
/// longer than the rows are kept.
fn check_rankings(cloud: &Cloud, likes: &BTreeSet<Marked>, truth: &Truth) -> Result<(), String> {
    let (mut posts, mut authors) = (BTreeMap::<PostId, i64>::new(), BTreeMap::<UserId, i64>::new());
    for item in cloud.items(BOARDS) {
        let (kind, sk) =
            (text(&item["pk"]).split('#').next().unwrap_or_default(), text(&item["sk"]));
        match kind {
            "trends" => {
                let hours = item.iter().filter(|(name, _)| name.starts_with('h'));
                *posts.entry(sk.parse().expect("a post id")).or_default() +=
                    hours.map(|(_, value)| number(Some(value))).sum::<i64>();
            }
            "received" => {
                let author = sk.split('#').next().unwrap_or_default().parse().expect("an id");
                *authors.entry(author).or_default() += number(item.get("likes"));
            }
            _ => {}
        }
    }
    if let Some(gone) = posts.keys().find(|post| truth.posts.get(*post) != Some(&true)) {
        return Err(format!("{gone} is gone, and has rows of a ranking"));
    }
    let (mut of_posts, mut of_authors) = (BTreeMap::new(), BTreeMap::new());
    for (_, post, _) in likes {
        *of_posts.entry(*post).or_default() += 1;
        *of_authors.entry(post.author()).or_default() += 1;
    }
    posts.retain(|_, likes| *likes != 0);
    authors.retain(|_, likes| *likes != 0);
    if (&posts, &authors) != (&of_posts, &of_authors) {
        return Err(format!(
            "the rankings have {posts:?} and {authors:?}, the likes are {of_posts:?} and {of_authors:?}"
        ));
    }
    Ok(())
}

/// Checks that both directions of the graph and all counters agree.
pub fn check_agreement(cloud: &Cloud) -> Result<(), String> {
    let truth = Truth::of(cloud);
    let mut followers = BTreeSet::new();
    for item in cloud.items(GRAPH) {
        if let Some(rest) = text(&item["pk"]).strip_prefix("followers#") {
            let author: UserId = rest.split('#').next().unwrap_or_default().parse().expect("an id");
            let follower: UserId = text(&item["sk"])[4..].parse().expect("an id");
            followers.insert((follower, author));
        }
    }
    if followers != truth.follows {
        return Err(format!("followers {followers:?}, following {:?}", truth.follows));
    }
    for item in cloud.items(USERS).filter(|item| text(&item["pk"]).starts_with("user#")) {
        let user: UserId = text(&item["pk"])[5..].parse().expect("an id");
        let counts = [
            ("posts", truth.author(user).len()),
            ("following", truth.follows.iter().filter(|(follower, _)| *follower == user).count()),
            ("followers", truth.follows.iter().filter(|(_, author)| *author == user).count()),
        ];
        for (name, count) in counts {
            if item[name]["N"].as_str() != Some(&count.to_string()) {
                return Err(format!(
                    "{user} has {count} {name}, but the counter is {}",
                    item[name]
                ));
            }
        }
    }
    check_heads(cloud)
}

/// Checks the heads of every profile.
pub fn check_heads(cloud: &Cloud) -> Result<(), String> {
    let truth = Truth::of(cloud);
    for item in cloud.items(USERS).filter(|item| text(&item["pk"]).starts_with("user#")) {
        check_heads_of(item, &truth.author(parsed(&text(&item["pk"])[5..])))?;
    }
    Ok(())
}

/// Checks that the heads of an author's profile above the floor are the published posts above it.
fn check_heads_of(profile: &Item, posts: &[PostId]) -> Result<(), String> {
    let floor: u64 = parsed(profile["head_floor"]["N"].as_str().expect("a floor"));
    let words = profile.get("heads").and_then(|heads| heads["BS"].as_array());
    let head = |word: &Value| {
        let bytes = STANDARD.decode(word.as_str().expect("base64")).expect("base64");
        u64::from_be_bytes(bytes.try_into().expect("8 bytes"))
    };
    let heads: BTreeSet<u64> = words.into_iter().flatten().map(head).collect();
    let above = |heads: BTreeSet<u64>| heads.into_iter().filter(|head| *head > floor).collect();
    let (heads, posts): (Vec<u64>, Vec<u64>) =
        (above(heads), above(posts.iter().map(|post| post.head()).collect()));
    match heads == posts {
        true => Ok(()),
        false => Err(format!("heads {heads:x?}, posts {posts:x?} above {floor:x}")),
    }
}

/// Checks that the posts of these tags, merged page by page, are those of their feeds, newest first and each once.
pub async fn check_merged(apps: &Apps, tags: &[&str], now: Time) -> Result<(), String> {
    let (app, viewer) = (&apps.app, Viewer::of(id(PEOPLE[0])));
    let named: Vec<NamedTag> = tags.iter().filter_map(|tag| NamedTag::new(tag)).collect();
    let truth = Truth::of(&apps.cloud.lock());
    let expected = named.iter().flat_map(|named| truth.tagged(FeedId::of_tag(&named.tag)));
    let expected: BTreeSet<PostId> = expected.collect();
    let (mut shown, mut span) = (Vec::new(), Span::ALL);
    loop {
        let reading = ReadContext::new(now);
        let page = home::page(app, &viewer, Of::Tags(&named), span, 3, &reading).await;
        let page = page.map_err(|error| format!("{error:?}"))?;
        shown.extend(page.ids());
        let Some(before) = page.next_before else { break };
        span = Span { before, ..span };
    }
    match shown.iter().eq(expected.iter().rev()) {
        true => Ok(()),
        false => Err(format!("the merged posts of {tags:?} are {shown:?}, not {expected:?}")),
    }
}
