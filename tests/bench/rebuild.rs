//! `rebuild`: the rebuild of the feed of a returning reader, with no author feed cached and with all of
//! them cached, against one query after another. Each DynamoDB call takes 5 ms longer, as on AWS.

use std::time::{Duration, Instant};

use fanfold_core::{FeedId, PostId, UserId};
use fanfold_engines::feed::{PostSource as _, Rebuilt};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::Read;
use fanfold_kinds::App;
use fanfold_kinds::follows::items::Followed;
use fanfold_runtime::clock::now;
use tokio::runtime::Runtime;

use crate::emulator::Emulator;
use crate::report::{Report, short};
use crate::server::Server;
use crate::stats::median;
use crate::{Pace, people};

const FOLLOWEES: [u64; 4] = [10, 100, 1_000, 5_000];
const POSTS_EACH: u64 = 10;
const DELAY: Duration = Duration::from_millis(5);

struct Setup {
    runtime: Runtime,
    server: Server,
    app: App,
    reader: UserId,
}

pub fn run(pace: &Pace, report: &mut Report) {
    let mut rows = Vec::new();
    for count in FOLLOWEES {
        let rounds = match (pace.quick, count) {
            (true, 1_000..) => 1,
            (true, _) | (false, 1_000..) => 3,
            _ => 9,
        };
        let emulator = Emulator::default();
        let (server, reader) = (Server::start(), people::user(count));
        let authors: Vec<UserId> = (0..count).map(|n| people::author(count * 10 + n)).collect();
        people::put_reader(&emulator, reader, &authors, POSTS_EACH, now());
        let app = App::new(&emulator.sdk(), &server.config()).expect("the stores");
        let mut setup = Setup { runtime: crate::runtime(), server, app, reader };
        setup.rebuild(); // connects and loads the scripts
        emulator.set_delay(DELAY);
        let (mut cold, mut warm, mut serial) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            setup.server.query::<()>(&redis::cmd("FLUSHALL"));
            cold.push(setup.rebuild());
            setup
                .runtime
                .block_on(setup.app.valkey.invalidate(FeedId::home(reader)))
                .expect("dropped");
            warm.push(setup.rebuild());
            // of more authors, one query after another takes half a minute
            if count <= 1_000 {
                serial.push(setup.serial());
            }
        }
        record(report, count, &[cold, warm, serial], &mut rows);
    }
    let head =
        ["followees", "cold ms", "warm ms", "one by one ms", "cold faster by", "warm faster by"];
    let title = "rebuild: each DynamoDB call takes 5 ms longer, as on AWS";
    report.table("rebuild", title, &head, rows);
}

impl Setup {
    /// Rebuilds the feed and checks it. Returns the milliseconds of the rebuild.
    fn rebuild(&self) -> f64 {
        let (feed, reading) = (FeedId::home(self.reader), ReadContext::new(now()));
        self.runtime.block_on(async {
            let start = Instant::now();
            let rebuilt = self.app.feeds().rebuild(feed, None, &reading).await.expect("rebuilt");
            let ms = start.elapsed().as_secs_f64() * 1e3;
            assert!(matches!(rebuilt, Rebuilt::Done(_)), "{rebuilt:?}");
            let read = self.app.valkey.read(feed, PostId::MAX, 200, now()).await.expect("read");
            assert_eq!(posts(read), self.expected().await, "the feed has the expected posts");
            ms
        })
    }

    /// The expected posts of the feed, computed from the posts alone.
    async fn expected(&self) -> Vec<PostId> {
        let (feed, reading) = (FeedId::home(self.reader), ReadContext::from_posts(now()));
        let keep = self.app.valkey.keep();
        self.app.pull(feed, PostId::MAX, keep, &reading).await.expect("a pull").posts
    }

    /// Computes the feed with one query after another, and checks it. Returns the milliseconds.
    fn serial(&self) -> f64 {
        let (app, keep) = (&self.app, self.app.valkey.keep());
        self.runtime.block_on(async {
            let start = Instant::now();
            let mut newest = Vec::new();
            for Followed { author, .. } in
                app.graph.following(self.reader, false).await.expect("relations")
            {
                newest.extend(
                    app.posts.by_author(author, PostId::MAX, keep).await.expect("posts").posts,
                );
            }
            newest.sort_unstable_by(|a, b| b.cmp(a));
            newest.truncate(keep);
            let ms = start.elapsed().as_secs_f64() * 1e3;
            assert_eq!(newest, self.expected().await, "single queries give the same feed");
            ms
        })
    }
}

fn posts(read: Read) -> Vec<PostId> {
    read.known().map(|cached| cached.slice.posts).unwrap_or_default()
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
    let cells =
        numbers.map(|number| if number.is_finite() { short(number) } else { String::new() });
    rows.push([vec![count.to_string()], cells.to_vec()].concat());
    let keys = ["rebuild_cold_ms", "rebuild_warm_ms", "rebuild_serial_ms"];
    let keys = keys.iter().zip(numbers).map(|(key, value)| (format!("{key}_{count}"), value));
    let ratios = [("cold", faster(cold)), ("warm", faster(warm))];
    let ratios = ratios.map(|(key, value)| (format!("rebuild_vs_serial_{count}_{key}"), value));
    for (key, value) in keys.chain(ratios).filter(|(_, value)| value.is_finite()) {
        report.set(key, value);
    }
}
