//! What threads must be at rest: the lists of replies, their numbers, and what a context shows.

use std::collections::{BTreeMap, BTreeSet};

use fanfold_core::kinds::ItemKind;
use fanfold_core::{PostId, Time};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::table::ByTime;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::replies::{self, RepliesTo};

use super::apps::{Apps, MARKS, PEOPLE, POSTS, id};
use super::cloud::Cloud;
use super::expression::Item;

/// The posts above each live reply, from the items of the posts.
type Threads = BTreeMap<PostId, Vec<PostId>>;

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(|value| value["S"].as_str()).unwrap_or_default()
}

fn number(item: &Item, name: &str) -> i64 {
    let number = item.get(name).and_then(|value| value["N"].as_str());
    number.map_or(0, |number| number.parse().expect("a number"))
}

/// Checks that the lists of replies have every live reply, and nothing else; that the rows count them, and that the posts show
/// these numbers.
pub fn check_rows(cloud: &Cloud) -> Result<Threads, String> {
    let (mut threads, mut shown) = (Threads::new(), BTreeMap::new());
    for item in cloud.items(POSTS).filter(|item| !text(item, "pk").contains('#')) {
        let post: PostId = text(item, "sk").parse().expect("a post id");
        let above = text(item, "above").split_ascii_whitespace();
        let above: Vec<PostId> = above.map(|above| above.parse().expect("a post id")).collect();
        if item.contains_key("deleted_at_ms") {
            if !above.is_empty() {
                return Err(format!("the tombstone of {post} still has {above:?} above"));
            }
            continue;
        }
        shown.insert(post, number(item, "replies"));
        threads.insert(post, above);
    }
    let (mut rows, mut counts) = (BTreeSet::new(), BTreeMap::<PostId, i64>::new());
    for item in cloud.items(MARKS) {
        let of = |kind: ItemKind| -> Option<PostId> {
            let (post, _) = kind.owner(text(item, "pk"))?.split_once('#')?;
            post.parse().ok()
        };
        if let Some(above) = of(ItemKind::Reply) {
            let (_, reply) = text(item, "sk").split_once('#').expect("a time");
            rows.insert((above, reply.parse().expect("a post id")));
        }
        if let Some(post) = of(ItemKind::ReplyCount) {
            *counts.entry(post).or_default() += number(item, "counted");
        }
    }
    let of = |(reply, above): (&PostId, &Vec<PostId>)| {
        above.iter().map(|above| (*above, *reply)).collect::<Vec<_>>()
    };
    let expected: BTreeSet<(PostId, PostId)> = threads.iter().flat_map(of).collect();
    if rows != expected {
        return Err(format!("the lists of replies have {rows:?}, not {expected:?}"));
    }
    for (post, shown) in &shown {
        let direct = threads.values().filter(|above| above.last() == Some(post)).count() as i64;
        let counted = counts.remove(post).unwrap_or(0);
        if (counted, *shown) != (direct, direct) {
            let all = format!("the rows count {counted}, the post {shown}");
            return Err(format!("{post} has {direct} replies, {all}"));
        }
    }
    match counts.keys().next() {
        None => Ok(threads),
        Some(gone) => Err(format!("{gone} is gone, and has a count of replies")),
    }
}

/// Checks the context of every live post, page by page, in both orders.
pub async fn check_contexts(apps: &Apps, threads: &Threads, now: Time) -> Result<u64, String> {
    let (viewer, mut read) = (Viewer::of(id(PEOPLE[0])), 0);
    for (post, above) in threads {
        let is_below = |(_, above): &(&PostId, &Vec<PostId>)| above.contains(post);
        let below: Vec<PostId> = threads.iter().filter(is_below).map(|(reply, _)| *reply).collect();
        for order in [ByTime::OldestFirst, ByTime::NewestFirst] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let (list, reading) = (RepliesTo(*post, order), ReadContext::new(now));
                let page = replies::context(&apps.app, &viewer, list, after, 2, &reading).await;
                let page = page.map_err(|error| format!("the context of {post}: {error:?}"))?;
                let places: Vec<_> =
                    page.above.iter().map(|place| (place.id, place.post.is_some())).collect();
                let expected = above.iter().map(|above| (*above, threads.contains_key(above)));
                if places != expected.collect::<Vec<_>>() {
                    return Err(format!("above {post} is shown {places:?}, not {above:?}"));
                }
                found.extend(page.replies.items.iter().map(|shown| shown.post.id));
                read += 1;
                after = page.replies.next;
                if after.is_none() {
                    break;
                }
            }
            if order == ByTime::NewestFirst {
                found.reverse();
            }
            if found != below {
                return Err(format!("below {post} is shown {found:?}, not {below:?}"));
            }
        }
    }
    Ok(read)
}

/// Checks that each post has as many earlier versions as its number says, and a deleted post none. Acknowledged edits are not lost.
pub fn check_versions(cloud: &Cloud, edited: &BTreeMap<PostId, u64>) -> Result<(), String> {
    let (mut posts, mut earlier) = (BTreeMap::new(), BTreeMap::<PostId, BTreeSet<u64>>::new());
    for item in cloud.items(POSTS) {
        let (pk, sk) = (text(item, "pk"), text(item, "sk"));
        if let Some(post) = pk.strip_prefix("versions#") {
            let number = sk.parse().expect("a number");
            earlier.entry(post.parse().expect("a post id")).or_default().insert(number);
        } else if !pk.contains('#') && !item.contains_key("deleted_at_ms") {
            let post: PostId = sk.parse().expect("a post id");
            posts.insert(post, number(item, "version").max(1) as u64);
        }
    }
    for (post, version) in &posts {
        let kept = earlier.remove(post).unwrap_or_default();
        if kept != (1..*version).collect() || edited.get(post).is_some_and(|least| version < least)
        {
            return Err(format!("{post} has version {version}, and the earlier ones {kept:?}"));
        }
    }
    match earlier.keys().next() {
        None => Ok(()),
        Some(gone) => Err(format!("{gone} is gone, and has versions")),
    }
}
