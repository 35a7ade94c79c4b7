//! A page, and the part of it in Valkey, against bare commands for the same bytes.

use std::time::Instant;

use fanfold_core::{FeedId, PostId};
use fanfold_engines::valkey::Read;
use fanfold_runtime::clock::now;

use super::bare::Bare;
use super::{LIMIT, Stores};
use crate::emulator::Emulator;
use crate::report::{Report, short};
use crate::server::Server;
use crate::stats::{median, percentile};
use crate::{Pace, people};

/// A whole page, against bare commands for the same bytes: ZSCORE and ZRANGE at the same time, then two BatchGetItems
/// at the same time, for posts and authors. Also against bare reads of the cards: instead of the BatchGetItems, one MGET
/// for each bucket, at the same time.
pub async fn page(
    pace: &Pace,
    report: &mut Report,
    (stores, emulator, server): (&Stores, &Emulator, &Server),
) {
    let (rounds, times) = if pace.quick { (5, 200) } else { (9, 1_000) };
    let reader = people::user(100);
    let bare = Bare::new(emulator, server, reader);
    let mut taken: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        let mut us: [Vec<f64>; 3] = Default::default();
        for _ in 0..times {
            let start = Instant::now();
            let page = stores.page(reader).await;
            us[0].push(start.elapsed().as_secs_f64() * 1e6);
            assert_eq!(page.expect("a page").posts.len(), LIMIT);
            let start = Instant::now();
            let cards = bare.cards(&bare.posts().await).await;
            us[1].push(start.elapsed().as_secs_f64() * 1e6);
            let start = Instant::now();
            let (texts, names) = bare.items(&bare.posts().await).await;
            us[2].push(start.elapsed().as_secs_f64() * 1e6);
            assert!(cards == texts + names && texts == LIMIT + 1, "{cards} cards, {texts} texts");
        }
        for (taken, us) in taken.iter_mut().zip(us) {
            taken.push(percentile(us, 50.0));
        }
    }
    let [ours, cards, items] = taken;
    let ratio = |base: &[f64]| median(ours.iter().zip(base).map(|(ours, base)| ours / base));
    let (to_cards, to_items) = (ratio(&cards), ratio(&items));
    let [ours, cards, items] = [ours, cards, items].map(median);
    let row =
        |name: &str, base, ratio| vec![name.to_owned(), short(ours), short(base), short(ratio)];
    let rows = vec![
        row("cards (ZSCORE, ZRANGE, MGETs)", cards, to_cards),
        row("items (ZSCORE, ZRANGE, BatchGetItems)", items, to_items),
    ];
    let head = ["against bare", "page p50 µs", "bare p50 µs", "ratio"];
    let title = "read: a page of 20 posts with its texts against bare commands";
    report.table("read_page_bare", title, &head, rows);
    report.set("read_page_p50_us", ours);
    report.set("read_page_bare_p50_us", items);
    report.set("read_page_bare_cards_p50_us", cards);
    report.set("read_vs_bare", to_items);
    report.set("read_vs_bare_cards", to_cards);
}

/// The read script, alternately with ZSCORE and ZRANGE sent at the same time, on one connection.
pub async fn script(
    pace: &Pace,
    report: &mut Report,
    (stores, emulator, server): (&Stores, &Emulator, &Server),
) {
    let (rounds, times) = if pace.quick { (5, 1_000) } else { (9, 5_000) };
    let (valkey, reader) = (&stores.app.valkey, people::user(100));
    let (feed, now, commands) = (FeedId::home(reader), now(), Bare::new(emulator, server, reader));
    let (mut ours, mut bases) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut script, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let start = Instant::now();
            let read = valkey.read(feed, PostId::MAX, LIMIT + 1, now).await.expect("a page");
            script.push(start.elapsed().as_secs_f64() * 1e6);
            let start = Instant::now();
            let (seen, entries) = commands.seen_and_entries().await;
            bare.push(start.elapsed().as_secs_f64() * 1e6);
            let Read::Known(held) = read else { panic!("the feed is live") };
            assert!(seen.is_some() && entries.len() == held.slice.posts.len());
        }
        ours.push(percentile(script, 50.0));
        bases.push(percentile(bare, 50.0));
    }
    let ratio = median(ours.iter().zip(&bases).map(|(ours, base)| ours / base));
    let (ours, base) = (median(ours), median(bases));
    let rows = vec![vec!["21 entries".to_owned(), short(ours), short(base), short(ratio)]];
    let head = ["page", "script p50 µs", "ZSCORE and ZRANGE p50 µs", "ratio"];
    report.table("read_bare", "read: the script against bare commands", &head, rows);
    report.set("read_script_p50_us", ours);
    report.set("read_bare_p50_us", base);
    report.set("read_script_vs_bare", ratio);
}
