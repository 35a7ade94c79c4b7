//! A page of a tag against a page of home with as many posts: the first page from Valkey, the first page that the environment keeps,
//! and a page below the floor, of a tag with one part and of one with 16.

use std::time::{Duration, Instant};

use fanfold_core::{FeedId, PostId, Tag, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::recent::Recent;
use fanfold_kinds::App;
use fanfold_kinds::home::{self, Span};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::tags::items::{TAG_PARTS_MAX, Tagged};
use fanfold_runtime::clock::now;

use super::{LIMIT, Stores};
use crate::emulator::Emulator;
use crate::report::{Report, short};
use crate::stats::median;
use crate::{Pace, people};

const POSTS: u64 = 1_000;
const AUTHORS: u64 = 100;
/// The tags of the posts, with their numbers of parts.
const TAGS: [(&str, u8); 2] = [("rare", 1), ("busy", TAG_PARTS_MAX)];

/// A page to read.
struct Page {
    name: &'static str,
    title: &'static str,
    feed: FeedId,
    before: PostId,
    is_kept: bool,
}

pub async fn compare(pace: &Pace, report: &mut Report, (stores, emulator): (&Stores, &Emulator)) {
    let (reader, oldest) = (people::user(AUTHORS), put(stores, emulator).await);
    let [rare, busy] = TAGS.map(|(tag, _)| FeedId::of_tag(&tag.parse().expect("a tag")));
    let first = PostId::MAX;
    let page = |name, title, feed, before, is_kept| Page { name, title, feed, before, is_kept };
    let pages = [
        page("home", "home", FeedId::home(reader), first, false),
        page("tag", "a tag", rare, first, false),
        page("tag_kept", "a tag, kept by the environment", rare, first, true),
        page("tag_old", "a tag, below the floor", rare, oldest, false),
        page("tag_old_16", "a tag with 16 parts, below the floor", busy, oldest, false),
    ];
    let times = if pace.quick { 100 } else { 1_000 };
    let mut measured = pages.each_ref().map(|_| Vec::new());
    let mut counts = pages.each_ref().map(|_| (0, 0.0));
    for turn in 0..=times {
        for (place, page) in pages.iter().enumerate() {
            let app = match page.is_kept {
                true => stores.app.clone(),
                false => App { first_pages: Recent::of(Duration::ZERO), ..stores.app.clone() },
            };
            let _before = emulator.take_counts();
            let start = Instant::now();
            read(&app, reader, page).await;
            let ms = start.elapsed().as_secs_f64() * 1e3;
            let taken = emulator.take_counts();
            // the first turn fills the cards
            if turn > 0 {
                measured[place].push(ms);
                counts[place] = (taken.all_calls(), taken.units.reads);
            }
        }
    }
    let home = median(measured[0].iter().copied());
    let mut rows = Vec::new();
    for ((page, ms), (calls, units)) in pages.iter().zip(&measured).zip(counts) {
        let ratio = median(ms.iter().zip(&measured[0]).map(|(page, home)| page / home));
        let ms = median(ms.iter().copied());
        rows.push(vec![
            page.title.to_owned(),
            short(ms),
            short(ratio),
            calls.to_string(),
            short(units),
        ]);
        report.set(format!("read_{}_vs_home", page.name), ratio);
        report.set(format!("read_{}_read_units", page.name), units);
    }
    report.set("read_home_p50_ms", home);
    let head = ["page of 20", "p50 ms", "against home", "calls of DynamoDB", "read units"];
    report.table("tags", "read: a page of a tag against a page of home", &head, rows);
}

/// Puts posts with both tags. Returns a post below the floors of the live feeds.
async fn put(stores: &Stores, emulator: &Emulator) -> PostId {
    let (app, now) = (&stores.app, now());
    let post = |n: u64| {
        let author = people::author(AUTHORS * 10 + n % AUTHORS);
        PostId::new(now - Duration::from_secs(n + 1), n as u16, author)
    };
    let posts: Vec<PostId> = (0..POSTS).map(post).collect();
    for post in &posts {
        people::put_tagged(emulator, *post, &TAGS.map(|(tag, _)| tag));
    }
    for (name, parts) in TAGS {
        let tag: Tag = name.parse().expect("a tag");
        let mut known = 1;
        while known < parts {
            known = app.tags.grown(tag.hash(), known, now).await.expect("grown");
        }
        let tagged =
            |post: &PostId| Tagged { post: *post, tag: tag.hash(), name, expires_at: None };
        let rows: Vec<Tagged<'_>> = posts.iter().map(tagged).collect();
        app.tags.put(&rows, now).await.expect("rows");
        let reading = ReadContext::new(now);
        app.feeds().rebuild(FeedId::of_tag(&tag), None, &reading).await.expect("rebuilt");
    }
    posts[posts.len() / 2]
}

async fn read(app: &App, reader: UserId, page: &Page) {
    let span = Span { before: page.before, ..Span::ALL };
    let (viewer, reading) = (Viewer::of(reader), ReadContext::new(now()));
    let shown = home::page(app, &viewer, page.feed, span, LIMIT, &reading).await.expect("a page");
    assert_eq!(shown.posts.len(), LIMIT, "{}", page.title);
}
