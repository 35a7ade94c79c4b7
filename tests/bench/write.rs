//! `write`: the calls to DynamoDB and SQS of a publication and of a follow, and how many of them are made one after
//! the other. Each call to DynamoDB takes 5 ms longer, and each call to SQS 3 ms.
//!
//! A follow by handle makes three calls one after the other if the card of the handle is there, and else four. The targets
//! leave out the last case: a handle is looked up once an hour.

use std::time::{Duration, Instant};

use fanfold_core::id::Identity;
use fanfold_core::{Handle, Relation, UserRef};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::follows::relate;
use fanfold_kinds::people::put_profile;
use fanfold_kinds::posts::publish;
use fanfold_kinds::present::{self, Viewer};
use fanfold_runtime::clock::now;
use tokio::runtime::Runtime;

use crate::emulator::{Delays, Emulator};
use crate::report::{Report, short};
use crate::server::Server;
use crate::stats::median;
use crate::{Pace, people};

const DELAYS: Delays = Delays { dynamodb: Duration::from_millis(5), sqs: Duration::from_millis(3) };

#[derive(Clone, Copy)]
enum Write {
    Publish,
    PublishWithKey,
    PublishWithTags,
    FollowId,
    /// The card of the handle is in Valkey.
    FollowHandle,
    /// The card of the handle is not in Valkey.
    FollowHandleWithoutCard,
}
use Write::{
    FollowHandle, FollowHandleWithoutCard, FollowId, Publish, PublishWithKey, PublishWithTags,
};

/// Each with its name in figures and in the table.
const WRITES: [(Write, &str, &str); 6] = [
    (Publish, "publish", "publish"),
    (PublishWithKey, "publish_key", "publish, with an Idempotency-Key"),
    (PublishWithTags, "publish_tags", "publish, with two tags"),
    (FollowId, "follow", "follow by id"),
    (FollowHandle, "follow_handle", "follow by handle, its card there"),
    (FollowHandleWithoutCard, "follow_handle_no_card", "follow by handle, without its card"),
];

/// The measurements of one write.
struct Taken {
    /// The most calls of which each began after the one before had ended.
    sequential: f64,
    calls: f64,
    ms: f64,
}

pub fn run(pace: &Pace, report: &mut Report) {
    let times = if pace.quick { 3 } else { 25 };
    let (setup, mut rows) = (Setup::new(), Vec::new());
    let (mut publish_most, mut follow_most) = (0.0_f64, 0.0_f64);
    for (write, name, title) in WRITES {
        let taken: Vec<Taken> = (0..times).map(|turn| setup.take(write, name, turn)).collect();
        let sequential = taken.iter().map(|taken| taken.sequential).fold(0.0, f64::max);
        let calls = taken.iter().map(|taken| taken.calls).fold(0.0, f64::max);
        let ms = median(taken.iter().map(|taken| taken.ms));
        match write {
            Publish | PublishWithKey | PublishWithTags => {
                publish_most = publish_most.max(sequential)
            }
            FollowId | FollowHandle => follow_most = follow_most.max(sequential),
            // once an hour for each handle
            FollowHandleWithoutCard => {}
        }
        rows.push(vec![title.to_owned(), short(sequential), short(calls), short(ms)]);
        report.set(format!("{name}_calls"), calls);
        report.set(format!("{name}_ms"), ms);
    }
    let head = ["request", "calls one after the other", "calls", "p50 ms"];
    let title = "write: calls to DynamoDB (5 ms longer) and SQS (3 ms longer)";
    report.table("write", title, &head, rows);
    report.set("publish_sequential_calls", publish_most);
    report.set("follow_sequential_calls", follow_most);
}

struct Setup {
    emulator: Emulator,
    /// Ends with the measurements.
    _server: Server,
    runtime: Runtime,
    app: App,
}

impl Setup {
    fn new() -> Self {
        let (emulator, server) = (Emulator::default(), Server::start());
        let (sdk, config) = (emulator.sdk(), server.config());
        Self {
            app: App::new(&sdk, &config).expect("the stores"),
            emulator,
            _server: server,
            runtime: crate::runtime(),
        }
    }

    /// Measures a write of a new user.
    fn take(&self, write: Write, name: &str, turn: usize) -> Taken {
        self.runtime.block_on(async {
            let (writer, _) = self.put_user(&format!("{name}_{turn}")).await;
            let (author, handle) = self.put_user(&format!("{name}_{turn}_a")).await;
            if matches!(write, FollowHandle) {
                let (viewer, user) = (Viewer::of(writer.user()), UserRef::Handle(handle.clone()));
                let reading = ReadContext::new(now());
                let found = present::user(&self.app, &viewer, &user, &reading).await;
                assert_eq!(found.expect("a user").id, author.user());
            }
            self.emulator.set_delays(DELAYS);
            let _before = self.emulator.take_counts();
            let start = Instant::now();
            match write {
                Publish => self.publish(&writer, people::TEXT, None).await,
                PublishWithKey => self.publish(&writer, people::TEXT, Some(name)).await,
                PublishWithTags => {
                    let text = format!("#one and #two. {}", people::TEXT);
                    self.publish(&writer, &text, None).await;
                }
                FollowId => self.follow(&writer, UserRef::Id(author.user())).await,
                FollowHandle | FollowHandleWithoutCard => {
                    self.follow(&writer, UserRef::Handle(handle)).await;
                }
            }
            let (ms, counts) = (start.elapsed().as_secs_f64() * 1e3, self.emulator.take_counts());
            self.emulator.set_delays(Delays::default());
            Taken { sequential: counts.sequential as f64, calls: counts.all_calls() as f64, ms }
        })
    }

    async fn put_user(&self, name: &str) -> (Identity, Handle) {
        let identity = Identity::of("https://issuer.example", name);
        put_profile(&self.app, &identity, name, name, now()).await.expect("a profile");
        (identity, name.parse().expect("a handle"))
    }

    async fn publish(&self, author: &Identity, text: &str, key: Option<&str>) {
        publish(&self.app, author, text, key, now()).await.expect("a post");
    }

    async fn follow(&self, follower: &Identity, author: UserRef) {
        let follow = relate(&self.app, follower, &author, Relation::Following, now());
        follow.await.expect("a relation");
    }
}
