//! `rebuild`: the feed of a reader who returns, with no author feed cached and with all of them,
//! against one query after another. Each DynamoDB call takes 5 ms longer, as on AWS.

use std::time::{Duration, Instant};

use fanfold_core::{PostId, UserId};
use fanfold_store::clock::now_ms;
use fanfold_store::feeds::{Feeds, Reading, Rebuilt};
use fanfold_store::valkey::{Feed, Read};
use tokio::runtime::Runtime;

use crate::emulator::Emulator;
use crate::report::{Report, short};
use crate::server::Server;
use crate::stats::median;
use crate::{Pace, people};

const FOLLOWEES: [u64; 3] = [10, 100, 1_000];
const POSTS_EACH: u64 = 10;
const DELAY: Duration = Duration::from_millis(5);

struct Stage {
    runtime: Runtime,
    server: Server,
    feeds: Feeds,
    reader: UserId,
}

pub fn run(pace: &Pace, report: &mut Report) {
    let mut rows = Vec::new();
    for count in FOLLOWEES {
        let rounds = match (pace.quick, count) {
            (true, 1_000) => 1,
            (true, _) | (false, 1_000) => 3,
            _ => 9,
        };
        let emulator = Emulator::default();
        let (server, reader) = (Server::start(), people::user(count));
        let authors: Vec<UserId> = (0..count).map(|n| people::author(count * 10 + n)).collect();
        people::put_reader(&emulator, reader, &authors, POSTS_EACH, now_ms());
        let feeds = Feeds::new(&emulator.sdk(), &server.config()).expect("feeds");
        let mut stage = Stage { runtime: crate::runtime(), server, feeds, reader };
        stage.rebuild(); // connects, and sends the scripts
        emulator.set_delay(DELAY);
        let (mut cold, mut warm, mut serial) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            stage.server.query::<()>(&redis::cmd("FLUSHALL"));
            cold.push(stage.rebuild());
            stage
                .runtime
                .block_on(stage.feeds.valkey.distrust(Feed::home(reader)))
                .expect("dropped");
            warm.push(stage.rebuild());
            serial.push(stage.serial());
        }
        record(report, count, &[cold, warm, serial], &mut rows);
    }
    let head =
        ["followees", "cold ms", "warm ms", "one by one ms", "cold faster by", "warm faster by"];
    let title = "rebuild: each DynamoDB call takes 5 ms longer, as on AWS";
    report.table("rebuild", title, &head, rows);
}

impl Stage {
    /// Milliseconds.
    fn rebuild(&self) -> f64 {
        let (feed, reading) = (Feed::home(self.reader), Reading::new(now_ms()));
        self.runtime.block_on(async {
            let start = Instant::now();
            let rebuilt = self.feeds.rebuild(feed, None, &reading).await.expect("rebuilt");
            let took = start.elapsed().as_secs_f64() * 1e3;
            assert!(matches!(rebuilt, Rebuilt::Done(_)), "{rebuilt:?}");
            let read =
                self.feeds.valkey.read(feed, PostId::MAX, 200, now_ms()).await.expect("read");
            assert_eq!(posts(read), self.wanted().await, "the feed holds what it should");
            took
        })
    }

    /// What the feed should hold, computed from DynamoDB alone.
    async fn wanted(&self) -> Vec<PostId> {
        let (feed, reading) = (Feed::home(self.reader), Reading::without_valkey(now_ms()));
        let keep = self.feeds.valkey.keep();
        self.feeds.pull(feed, PostId::MAX, keep, &reading).await.expect("a pull").posts
    }

    /// Milliseconds of one query after another.
    fn serial(&self) -> f64 {
        let (feeds, keep) = (&self.feeds, self.feeds.valkey.keep());
        self.runtime.block_on(async {
            let start = Instant::now();
            let mut newest = Vec::new();
            for author in feeds.graph.following(self.reader).await.expect("relations") {
                newest.extend(
                    feeds.posts.by_author(author, PostId::MAX, keep).await.expect("posts").posts,
                );
            }
            newest.sort_unstable_by(|a, b| b.cmp(a));
            newest.truncate(keep);
            let took = start.elapsed().as_secs_f64() * 1e3;
            assert_eq!(newest, self.wanted().await, "one by one leads to the same feed");
            took
        })
    }
}

fn posts(read: Read) -> Vec<PostId> {
    read.known().map(|held| held.slice.posts).unwrap_or_default()
}

fn record(
    report: &mut Report,
    count: u64,
    [cold, warm, serial]: &[Vec<f64>; 3],
    rows: &mut Vec<Vec<String>>,
) {
    let middle = |values: &[f64]| median(values.iter().copied());
    let faster = |by: &[f64]| median(serial.iter().zip(by).map(|(serial, by)| serial / by));
    let numbers = [middle(cold), middle(warm), middle(serial), faster(cold), faster(warm)];
    rows.push([vec![count.to_string()], numbers.map(short).to_vec()].concat());
    let keys = ["rebuild_cold_ms", "rebuild_warm_ms", "rebuild_serial_ms"];
    for (key, value) in keys.iter().zip(numbers) {
        report.set(format!("{key}_{count}"), value);
    }
    report.set(format!("rebuild_vs_serial_{count}_cold"), faster(cold));
    report.set(format!("rebuild_vs_serial_{count}_warm"), faster(warm));
}
