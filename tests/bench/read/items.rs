//! The page from cards against the same page with posts and profiles read from DynamoDB, as a page was read before
//! there were cards: calls, read units, work of Valkey, and cost at list prices. The page from cards is read in two
//! ways: as from a cluster, with a call of a script for each bucket, and as from a single node, with simple commands. AWS
//! charges for the work of ElastiCache Serverless, which is a cluster; so the price is that of the first way.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use fanfold_core::{FeedId, PostId, UserId};
use fanfold_engines::feed::Source;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{Answers, FeedSettings, Link, Valkey};
use fanfold_kinds::App;
use fanfold_kinds::marks::{MarkKind, MarkSet};
use fanfold_kinds::people::cards::UserCard;
use fanfold_kinds::posts::items::PostState;
use fanfold_kinds::present::ShownPost;
use fanfold_runtime::clock::now;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};
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
    let mut single = Vec::new();
    let shown = runtime.block_on(stores.page(reader)).expect("a page").posts;
    let cluster = runtime.block_on(like_a_cluster(emulator, server));
    for _ in 0..rounds {
        let command_us = simple_command_cpu_us(server);
        let of_cards = async || cluster.page(reader).await.expect("a page").posts;
        let of_single = async || stores.page(reader).await.expect("a page").posts;
        let of_items = async || page_of_items(stores, reader).await;
        cards.push(take((emulator, server), runtime, command_us, times, &shown, of_cards));
        single.push(take((emulator, server), runtime, command_us, times, &shown, of_single));
        items.push(take((emulator, server), runtime, command_us, times, &shown, of_items));
    }
    let ratio = |all: &[Taken]| {
        median(all.iter().zip(&items).map(|(cards, items)| cards.dollars() / items.dollars()))
    };
    let (ratio, single_ratio) = (ratio(&cards), ratio(&single));
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
    let rows = vec![
        row("from cards, cluster", &cards),
        row("from cards, single node", &single),
        row("from items", &items),
    ];
    let title = format!("read: a page of 20 posts, at list prices of {}", prices::SOURCE);
    let head =
        ["page", "µs", "DynamoDB calls", "read units", "Valkey ECPUs", "US$ per million pages"];
    report.table("read_items", &title, &head, rows);
    // the most of any round, so that no miss is lost in a median
    let most = |number: Number| cards.iter().chain(&single).map(number).fold(0.0, f64::max);
    report.set("read_page_dynamodb_calls", most(|taken| taken.dynamodb_calls));
    report.set("read_page_read_units", most(|taken| taken.read_units));
    for (name, all) in [("cards", &cards), ("cards_single_node", &single), ("items", &items)] {
        report.set(format!("read_page_ecpus_{name}"), of(all, |taken| taken.ecpus));
        report.set(format!("cost_pages_usd_per_million_{name}"), of(all, Taken::dollars));
    }
    report.set("cost_pages_vs_before", ratio);
    report.set("cost_pages_vs_before_single_node", single_ratio);
}

/// A connection to a server that is used like a cluster.
struct LikeCluster(MultiplexedConnection);

impl Answers for LikeCluster {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let mut connection = self.0.clone();
        Box::pin(async move { connection.req_packed_command(command).await })
    }
}

/// The same stores, with Valkey used like a cluster.
async fn like_a_cluster(emulator: &Emulator, server: &Server) -> Stores {
    let client = redis::Client::open(server.url()).expect("a client");
    let connection = client.get_multiplexed_async_connection().await.expect("a connection");
    let settings = FeedSettings::read(&server.config()).expect("settings");
    let valkey = Valkey::over(Link::given_cluster(Arc::new(LikeCluster(connection))), &settings);
    let app = App::over(valkey, &emulator.sdk(), &server.config()).expect("the stores");
    Stores { app }
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
    let feeds = stores.app.feeds();
    let slice = feeds.slice(feed, PostId::MAX, LIMIT + 1, &reading);
    let (slice, source) = slice.await.expect("a feed");
    assert_eq!(source, Source::Cache);
    let authors: BTreeSet<UserId> = slice.posts.iter().map(|post| post.author()).collect();
    let authors: Vec<UserId> = authors.into_iter().collect();
    let (posts, users) = (&stores.app.posts, &stores.app.users);
    let marks = MarkKind::Like.of(&stores.app);
    let read = futures::try_join!(
        posts.states(&slice.posts),
        users.profiles(&authors),
        marks.among(reader, &slice.posts),
    );
    let (mut states, profiles, liked) = read.expect("items");
    let mut shown: Vec<ShownPost> = slice
        .posts
        .iter()
        .filter_map(|id| match states.remove(id)? {
            PostState::Published(post) => {
                let mut marks = MarkSet::default();
                if liked.contains(id) {
                    marks.add(MarkKind::Like);
                }
                let author = UserCard::from(profiles.get(&id.author())?.clone());
                Some(ShownPost { post, author, marks })
            }
            _ => None,
        })
        .collect();
    shown.truncate(LIMIT);
    shown
}
