//! The handlers of all functions over the simulated stores.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Credentials, IdentityCache, Region, SharedCredentialsProvider,
    StalledStreamProtectionConfig,
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use fanfold_core::id::Identity;
use fanfold_core::registry::QUEUES;
use fanfold_core::{Time, UserId};
use fanfold_engines::recent::Recent;
use fanfold_engines::tally::Counts;
use fanfold_engines::valkey::{Address, FeedSettings, Link, Valkey};
use fanfold_functions::admin::Admin;
use fanfold_kinds::App;
use fanfold_kinds::feeds::kept::settings::KeptSettings;
use fanfold_kinds::people::items::HeadBounds;
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::capacity::Capacity;
use super::cloud::{Answer, Cloud, Fate, Transaction, lost};
use super::server;
use super::steps::Steps;
use super::tasks::runtime;

/// The time at which histories begin.
pub const START: Time = Time::from_ms(1_800_000_000_000);

pub const PEOPLE: [&str; 4] = ["ash", "birch", "cedar", "dogwood"];
pub const USERS: &str = "users";
pub const POSTS: &str = "posts";
pub const GRAPH: &str = "graph";
pub const DUE: &str = "due";
pub const MARKS: &str = "marks";
pub const BOARDS: &str = "boards";
/// The number of buckets of the users.
pub const BUCKETS: u16 = 2;
const INACTIVE_AFTER: Duration = Duration::from_secs(100);

pub struct Apps {
    pub app: App,
    /// Keeps first pages, as a deployed function does.
    pub keeping: App,
    pub admin: Admin,
    pub steps: Steps,
    pub cloud: SharedCloud,
    pub valkey: Arc<server::Valkey>,
}

pub fn identity(name: &str) -> Identity {
    Identity::of("simulation", name)
}

pub fn id(name: &str) -> UserId {
    identity(name).user()
}

/// The name of the user with this id.
pub fn name(user: UserId) -> &'static str {
    PEOPLE.into_iter().find(|name| id(name) == user).unwrap_or("unknown user")
}

#[derive(Clone, Default)]
pub struct SharedCloud(Arc<Mutex<Cloud>>);

impl SharedCloud {
    pub fn lock(&self) -> MutexGuard<'_, Cloud> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The SDK's HTTP client, which sends every request to the simulated cloud.
#[derive(Clone)]
struct Connector {
    steps: Steps,
    cloud: SharedCloud,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated cloud")
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let body = request.body().bytes().unwrap_or_default();
        let body: Value = serde_json::from_slice(body).expect("a JSON request");
        let Connector { steps, cloud } = self.clone();
        HttpConnectorFuture::new(async move {
            steps.note(|| counted(&target, &body));
            steps.step(describe(&target, &body)).await;
            let (status, answer) = match target.ends_with(".TransactWriteItems") {
                true => transact(&steps, &cloud, &target, &body).await,
                false => {
                    let latency = cloud.lock().latency.1;
                    sleep(latency).await;
                    cloud.lock().call(&target, &body)
                }
            };
            let status = StatusCode::try_from(status).expect("a status");
            Ok(HttpResponse::new(status, SdkBody::from(answer.to_string())))
        })
    }
}

async fn sleep(latency: Duration) {
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
}

/// Runs a transaction in two steps. Other tasks may run between its begin and its end.
async fn transact(steps: &Steps, cloud: &SharedCloud, target: &str, body: &Value) -> Answer {
    let (fate, latency) = {
        let mut cloud = cloud.lock();
        (cloud.fate(), cloud.latency.0)
    };
    if matches!(fate, Fate::Refused(_)) || cloud.lock().record.is_some() {
        return cloud.lock().answer(fate, target, body);
    }
    let begun = cloud.lock().begin(body);
    let answer = match begun {
        Err(answer) => {
            sleep(latency).await;
            answer
        }
        Ok(transaction) => {
            let mut open = OpenTransaction { cloud: cloud.clone(), transaction: Some(transaction) };
            steps.step("end of the transaction".to_owned()).await;
            sleep(latency).await;
            open.transaction = None;
            cloud.lock().end(transaction)
        }
    };
    if matches!(fate, Fate::Lost) { lost() } else { answer }
}

/// Abandons its transaction on drop: the worker died before the transaction ended.
struct OpenTransaction {
    cloud: SharedCloud,
    transaction: Option<Transaction>,
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            self.cloud.lock().abandon(transaction);
        }
    }
}

/// A call for a count: the operation, and its tables or its queue.
fn counted(target: &str, body: &Value) -> String {
    let operation = target.rsplit('.').next().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let of_write = |write: &Value| {
        let write = write.as_object()?.values().next()?;
        text(&write["TableName"])
    };
    let named = || [&body["TableName"], &body["QueueUrl"]].into_iter().filter_map(text).collect();
    let mut places: Vec<String> = match operation {
        "TransactWriteItems" => {
            body["TransactItems"].as_array().into_iter().flatten().filter_map(of_write).collect()
        }
        "BatchGetItem" | "BatchWriteItem" => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            tables.map(|(table, _)| table.clone()).collect()
        }
        "SendMessageBatch" => {
            let messages = body["Entries"].as_array().map_or(0, Vec::len);
            vec![format!("{} ({messages})", body["QueueUrl"].as_str().unwrap_or_default())]
        }
        _ => named(),
    };
    places.sort_unstable();
    format!("{operation} {}", places.join(" "))
}

fn describe(target: &str, body: &Value) -> String {
    let operation = target.rsplit('.').next().unwrap_or_default();
    let content = match operation {
        "GetItem" => &body["Key"],
        "BatchGetItem" => &body["RequestItems"],
        "Query" => &body["ExpressionAttributeValues"],
        "TransactWriteItems" => &body["TransactItems"],
        "UpdateItem" => body,
        "SendMessage" => &body["MessageBody"],
        _ => &body["Entries"],
    };
    let mut text = content.to_string().replace('"', "");
    if text.len() > 200 {
        text = text.chars().take(200).collect::<String>() + "…";
    }
    format!("{operation} {text}")
}

fn sdk(connector: Connector, retry: RetryConfig) -> SdkConfig {
    let credentials = Credentials::new("id", "secret", None, None, "simulation");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url("http://cloud.invalid")
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .identity_cache(IdentityCache::no_cache())
        .retry_config(retry)
        .timeout_config(TimeoutConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(connector.clone())))
        .build()
}

impl Apps {
    /// Without retries in the SDK: the handlers must cope with every failed call.
    pub fn new(server: &server::Server) -> Self {
        Self::with(server, &[], RetryConfig::disabled())
    }

    /// With these settings of the functions, and these retries in the SDK.
    pub fn with(
        server: &server::Server,
        settings: &[(&'static str, String)],
        retry: RetryConfig,
    ) -> Self {
        Self::on(server, settings, retry, false)
    }

    /// The same. `is_cluster`: the functions use the server like a cluster.
    pub fn on(
        server: &server::Server,
        settings: &[(&'static str, String)],
        retry: RetryConfig,
        is_cluster: bool,
    ) -> Self {
        let (steps, cloud) = (Steps::default(), SharedCloud::default());
        let valkey = Arc::new(server::Valkey::new(steps.clone(), server.connect()));
        cloud.lock().capacity = Some(Capacity::default());
        let sdk = sdk(Connector { steps: steps.clone(), cloud: cloud.clone() }, retry);
        let pairs = [
            ("REDIS_URL", "redis://unused.invalid"),
            ("USERS_TABLE", USERS),
            ("POSTS_TABLE", POSTS),
            ("GRAPH_TABLE", GRAPH),
            ("DUE_TABLE", DUE),
            ("MARKS_TABLE", MARKS),
            ("BOARDS_TABLE", BOARDS),
            ("TIMER_EVENTS_QUEUE_URL", "timer-events"),
            ("DOCTOR_QUEUE_URL", "none"),
            ("CHUNK_FOLLOWERS", "1"),
            ("SMALL_FOLLOWERS", "1"),
            ("BULK_FOLLOWERS", "2"),
        ];
        let queues =
            QUEUES.iter().flat_map(|queue| [(queue.url, queue.name), (queue.dead_url, "none")]);
        let pairs = pairs.into_iter().chain(queues).map(|(name, value)| (name, value.to_owned()));
        let pairs = pairs.chain([("BUCKETS", BUCKETS.to_string())]);
        let config = Config::from_pairs(pairs.chain(settings.iter().cloned()));
        // small feeds, so that trims and floors occur in short histories
        let settings = FeedSettings {
            redis: Address::parse("redis://unused.invalid").expect("an address"),
            iam: None,
            authority: None,
            buckets: config.number("BUCKETS", BUCKETS.into(), 1..=1_000).expect("a number") as u16,
            cap: config.number("FEED_CAP", 7, 1..=1_000).expect("a number") as usize,
            inactive_after: INACTIVE_AFTER,
            card_memory: 1,
        };
        let link = match is_cluster {
            true => Link::given_cluster(valkey.clone()),
            false => Link::given(valkey.clone()),
        };
        let over = Valkey::over(link, &settings);
        let mut app = App::over(over, &sdk, &config).expect("the stores");
        // messages arrive at any time
        app.counts = Counts::after(Duration::ZERO);
        app.settings.inline_authors = 2;
        let keeping = app.clone();
        // what a reader sees is checked at every moment
        app.first_pages = Recent::of(Duration::ZERO);
        app.first_slices = Recent::of(Duration::ZERO);
        // few heads, so that their floors rise in short histories; some authors are hot
        app.settings.head_bounds = HeadBounds { max: 4, kept: 2 };
        app.settings.hot_followers = 2;
        // dropped feeds are kept, and their copies used after half a minute; workers die after 20 s, and clocks differ by 2 s
        app.settings.kept = KeptSettings {
            keep: Duration::from_secs(7_200),
            slack: Duration::from_secs(25),
            late_after: Duration::from_secs(2),
        };
        app.settings.page_followers = 2;
        app.settings.inactive_after = INACTIVE_AFTER;
        let admin = Admin { app: app.clone(), ..Admin::new(&sdk, &config).expect("admin") };
        Self { app, keeping, admin, steps, cloud, valkey }
    }
}

/// A cloud in which each of [`PEOPLE`] has a profile. New authors begin with this number of partitions.
pub fn cloud_with_profiles(server: &server::Server, runtime: &Runtime, partitions: u16) -> Cloud {
    let settings = [("FOLLOWER_PARTITIONS", partitions.to_string())];
    let apps = Apps::with(server, &settings, RetryConfig::disabled());
    apps.steps.set_free(true);
    runtime.block_on(async {
        for name in PEOPLE {
            let put = fanfold_kinds::people::put_profile;
            put(&apps.app, &identity(name), name, name, START).await.expect("a profile");
        }
    });
    apps.cloud.lock().clone()
}

/// Runs a test whose calls are free to go on, with a profile for each of [`PEOPLE`].
pub fn with_people(test: impl AsyncFn(&Apps)) {
    let (server, runtime) = (server::Server::start(), runtime());
    let cloud = cloud_with_profiles(&server, &runtime, 1);
    runtime.block_on(async {
        let apps = Apps::new(&server);
        apps.valkey.reset();
        *apps.cloud.lock() = cloud;
        apps.steps.set_free(true);
        test(&apps).await;
    });
}
