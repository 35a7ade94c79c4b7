//! The page from cards against the same page with posts and profiles read from DynamoDB, as a page was read before
//! there were cards: calls, read units, work of Valkey, and cost at list prices.

use std::collections::BTreeSet;
use std::time::Instant;

use fanfold_app::present::ShownPost;
use fanfold_core::{FeedId, PostId, UserId};
use fanfold_runtime::clock::now;
use fanfold_store::cards::UserCard;
use fanfold_store::dynamo::posts::PostState;
use fanfold_store::feeds::{ReadContext, Source};
use tokio::runtime::Runtime;

use super::{LIMIT, Stores};
use crate::cost::ECPU_BYTES;
use crate::emulator::Emulator;
use crate::fanout::simple_command_cpu_us;
use crate::report::{Report, short};
use crate::server::Server;
use crate::stats::median;
use crate::{Pace, people, prices};

/// What a page takes.
struct Taken {
    us: f64,
    dynamodb_calls: f64,
    read_units: f64,
    ecpus: f64,
}

impl Taken {
    /// Dollars for a million pages.
    fn dollars(&self) -> f64 {
        (self.read_units * prices::READ_UNIT + self.ecpus * prices::ECPU) * 1e6
    }
}

/// Selects a number of [`Taken`].
type Number = fn(&Taken) -> f64;

pub fn compare(
    pace: &Pace,
    report: &mut Report,
    (stores, emulator, server): (&Stores, &Emulator, &mut Server),
    runtime: &Runtime,
) {
    let (rounds, times) = if pace.quick { (3, 200) } else { (9, 1_000) };
    let (reader, mut cards, mut items) = (people::user(100), Vec::new(), Vec::new());
    let shown = runtime.block_on(stores.page(reader)).expect("a page").posts;
    for _ in 0..rounds {
        let command_us = simple_command_cpu_us(server);
        let of_cards = async || stores.page(reader).await.expect("a page").posts;
        let of_items = async || page_of_items(stores, reader).await;
        cards.push(take((emulator, server), runtime, command_us, times, &shown, of_cards));
        items.push(take((emulator, server), runtime, command_us, times, &shown, of_items));
    }
    let ratios = cards.iter().zip(&items).map(|(cards, items)| cards.dollars() / items.dollars());
    let ratio = median(ratios);
    let of = |all: &[Taken], number: Number| median(all.iter().map(number));
    let row = |name: &str, all: &[Taken]| {
        let numbers: [Number; 5] = [
            |taken| taken.us,
            |taken| taken.dynamodb_calls,
            |taken| taken.read_units,
            |taken| taken.ecpus,
            Taken::dollars,
        ];
        let numbers = numbers.map(|number| short(of(all, number)));
        [vec![name.to_owned()], numbers.to_vec()].concat()
    };
    let rows = vec![row("from cards", &cards), row("from items", &items)];
    let title = format!("read: a page of 20 posts, at list prices of {}", prices::SOURCE);
    let head =
        ["page", "µs", "DynamoDB calls", "read units", "Valkey ECPUs", "US$ per million pages"];
    report.table("read_items", &title, &head, rows);
    // the most of any round, so that no miss is lost in a median
    let most = |number: Number| cards.iter().map(number).fold(0.0, f64::max);
    report.set("read_page_dynamodb_calls", most(|taken| taken.dynamodb_calls));
    report.set("read_page_read_units", most(|taken| taken.read_units));
    for (name, all) in [("cards", &cards), ("items", &items)] {
        report.set(format!("read_page_ecpus_{name}"), of(all, |taken| taken.ecpus));
        report.set(format!("cost_pages_usd_per_million_{name}"), of(all, Taken::dollars));
    }
    report.set("cost_pages_vs_before", ratio);
}

/// Measures pages. Each must show these posts.
fn take(
    (emulator, server): (&Emulator, &mut Server),
    runtime: &Runtime,
    command_us: f64,
    times: usize,
    shown: &[ShownPost],
    page: impl AsyncFn() -> Vec<ShownPost>,
) -> Taken {
    let _before = emulator.take_counts();
    let (stats, cpu_s, start) = (server.info("stats"), server.cpu_s(), Instant::now());
    runtime.block_on(async {
        for _ in 0..times {
            assert_eq!(page().await, shown, "both show the same page");
        }
    });
    let (s, cpu_s, after) = (start.elapsed(), server.cpu_s() - cpu_s, server.info("stats"));
    let (counts, pages) = (emulator.take_counts(), times as f64);
    let since = |name: &str| after[name] - stats[name];
    let bytes = since("total_net_input_bytes") + since("total_net_output_bytes");
    let by_time = cpu_s * 1e6 / command_us;
    Taken {
        us: s.as_secs_f64() * 1e6 / pages,
        dynamodb_calls: counts.all_calls() as f64 / pages,
        read_units: counts.units.reads / pages,
        ecpus: by_time.max(bytes / ECPU_BYTES) / pages,
    }
}

/// The first page, with posts and profiles from DynamoDB.
async fn page_of_items(stores: &Stores, reader: UserId) -> Vec<ShownPost> {
    let (feed, reading) = (FeedId::home(reader), ReadContext::new(now()));
    let slice = stores.feeds.slice(feed, PostId::MAX, LIMIT + 1, &reading);
    let (slice, source) = slice.await.expect("a feed");
    assert_eq!(source, Source::Cache);
    let authors: BTreeSet<UserId> = slice.posts.iter().map(|post| post.author()).collect();
    let authors: Vec<UserId> = authors.into_iter().collect();
    let (posts, users) = (&stores.feeds.posts, &stores.cards.users.users);
    let read = futures::try_join!(posts.states(&slice.posts), users.profiles(&authors));
    let (mut states, profiles) = read.expect("items");
    let mut shown: Vec<ShownPost> = slice
        .posts
        .iter()
        .filter_map(|id| match states.remove(id)? {
            PostState::Published(post) => {
                Some(ShownPost { post, author: UserCard::from(profiles.get(&id.author())?) })
            }
            _ => None,
        })
        .collect();
    shown.truncate(LIMIT);
    shown
}
