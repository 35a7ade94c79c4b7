//! The handlers of all functions, over the simulated stores.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
use fanfold_core::UserId;
use fanfold_core::id::Identity;
use fanfold_store::Config;
use fanfold_store::aws::SdkConfig;
use fanfold_store::config::FeedSettings;
use fanfold_store::valkey::{Address, Link, Valkey};
use serde_json::Value;

use super::cloud::Cloud;
use super::server;
use super::steps::Steps;

pub const PEOPLE: [&str; 4] = ["ash", "birch", "cedar", "dogwood"];
pub const USERS: &str = "users";
pub const POSTS: &str = "posts";
pub const GRAPH: &str = "graph";
const INACTIVE_AFTER_S: u64 = 100;

pub struct Apps {
    pub posts: fanfold_posts::App,
    pub users: fanfold_users::App,
    pub timeline: fanfold_timeline::App,
    pub dispatch: fanfold_dispatch::App,
    pub deliver: fanfold_deliver::App,
    pub graph: fanfold_graph::App,
    pub rebuild: fanfold_rebuild::App,
    pub sweep: fanfold_sweep::App,
    pub audit: fanfold_audit::App,
    pub admin: fanfold_admin::App,
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

/// Whose id it is.
pub fn name(user: UserId) -> &'static str {
    PEOPLE.into_iter().find(|name| id(name) == user).unwrap_or("somebody")
}

#[derive(Clone, Default)]
pub struct SharedCloud(Arc<Mutex<Cloud>>);

impl SharedCloud {
    pub fn lock(&self) -> MutexGuard<'_, Cloud> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The SDK's way to the cloud.
#[derive(Clone)]
struct Wire {
    steps: Steps,
    cloud: SharedCloud,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated cloud")
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let body = request.body().bytes().unwrap_or_default();
        let body: Value = serde_json::from_slice(body).expect("a JSON request");
        let Wire { steps, cloud } = self.clone();
        HttpConnectorFuture::new(async move {
            steps.step(describe(&target, &body)).await;
            let (status, answer) = cloud.lock().call(&target, &body);
            let status = StatusCode::try_from(status).expect("a status");
            Ok(HttpResponse::new(status, SdkBody::from(answer.to_string())))
        })
    }
}

fn describe(target: &str, body: &Value) -> String {
    let operation = target.rsplit('.').next().unwrap_or_default();
    let of = match operation {
        "GetItem" => &body["Key"],
        "BatchGetItem" => &body["RequestItems"],
        "Query" => &body["ExpressionAttributeValues"],
        "TransactWriteItems" => &body["TransactItems"],
        "UpdateItem" => body,
        "SendMessage" => &body["MessageBody"],
        _ => &body["Entries"],
    };
    let mut text = of.to_string().replace('"', "");
    if text.len() > 200 {
        text = text.chars().take(200).collect::<String>() + "…";
    }
    format!("{operation} {text}")
}

fn sdk(wire: Wire) -> SdkConfig {
    let credentials = Credentials::new("id", "secret", None, None, "simulation");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url("http://cloud.invalid")
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .identity_cache(IdentityCache::no_cache())
        // what the SDK would try again fails: the handlers must bear it
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(wire.clone())))
        .build()
}

impl Apps {
    pub fn new(server: &server::Server) -> Self {
        let (steps, cloud) = (Steps::default(), SharedCloud::default());
        let valkey = Arc::new(server::Valkey::new(steps.clone(), server.connect()));
        let sdk = sdk(Wire { steps: steps.clone(), cloud: cloud.clone() });
        let config = Config::from_pairs([
            ("REDIS_URL", "redis://not-asked.invalid"),
            ("USERS_TABLE", USERS),
            ("POSTS_TABLE", POSTS),
            ("GRAPH_TABLE", GRAPH),
            ("POST_EVENTS_QUEUE_URL", "post-events"),
            ("CHUNKS_QUEUE_URL", "chunks"),
            ("BULK_EVENTS_QUEUE_URL", "bulk-events"),
            ("BULK_CHUNKS_QUEUE_URL", "bulk-chunks"),
            ("GRAPH_EVENTS_QUEUE_URL", "graph-events"),
            ("REBUILDS_QUEUE_URL", "rebuilds"),
            ("POST_EVENTS_DEAD_QUEUE_URL", "none"),
            ("CHUNKS_DEAD_QUEUE_URL", "none"),
            ("BULK_EVENTS_DEAD_QUEUE_URL", "none"),
            ("BULK_CHUNKS_DEAD_QUEUE_URL", "none"),
            ("GRAPH_EVENTS_DEAD_QUEUE_URL", "none"),
            ("REBUILDS_DEAD_QUEUE_URL", "none"),
            ("DOCTOR_QUEUE_URL", "none"),
            ("BUCKETS", "2"),
            ("CHUNK_FOLLOWERS", "1"),
            ("SMALL_FOLLOWERS", "1"),
            ("BULK_FOLLOWERS", "2"),
        ]);
        // small feeds: trims and floors come up in short histories
        let settings = FeedSettings {
            redis: Address::parse("redis://not-asked.invalid").expect("an address"),
            iam: None,
            authority: None,
            buckets: 2,
            cap: 7,
            inactive_after_s: INACTIVE_AFTER_S,
        };
        let over = || Valkey::over(Link::given(valkey.clone()), &settings);
        let mut apps = Self {
            posts: fanfold_posts::App::new(&sdk, &config).expect("posts"),
            users: fanfold_users::App::new(&sdk, &config).expect("users"),
            timeline: fanfold_timeline::App::new(&sdk, &config).expect("timeline"),
            dispatch: fanfold_dispatch::App::new(&sdk, &config).expect("dispatch"),
            deliver: fanfold_deliver::App::new(&sdk, &config).expect("deliver"),
            graph: fanfold_graph::App::new(&sdk, &config).expect("graph"),
            rebuild: fanfold_rebuild::App::new(&sdk, &config).expect("rebuild"),
            sweep: fanfold_sweep::App::new(&sdk, &config).expect("sweep"),
            audit: fanfold_audit::App::new(&sdk, &config).expect("audit"),
            admin: fanfold_admin::App::new(&sdk, &config).expect("admin"),
            steps,
            cloud,
            valkey: valkey.clone(),
        };
        apps.posts.valkey = over();
        apps.timeline.feeds.valkey = over();
        apps.timeline.feeds.inline_authors = 2;
        apps.dispatch.valkey = over();
        apps.dispatch.page_followers = 2;
        apps.deliver.valkey = over();
        apps.graph.feeds.valkey = over();
        apps.rebuild.feeds.valkey = over();
        apps.sweep.valkey = over();
        apps.sweep.inactive_after_ms = INACTIVE_AFTER_S * 1000;
        apps.audit.feeds.valkey = over();
        apps.admin.feeds.valkey = over();
        apps
    }
}
