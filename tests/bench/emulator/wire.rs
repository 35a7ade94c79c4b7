//! The HTTP client of the AWS SDK, which sends every request to the emulator.

use std::fmt;

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
use fanfold_core::registry::{
    self, BULK_CHUNKS, BULK_EVENTS, POST_EVENTS, QUEUES, QueueSpec, TIMER_EVENTS,
};
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;

use super::{BOARDS, CHUNKS, DUE, EVENTS, Emulator, GRAPH, MARKS, POSTS, USERS};

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the emulated cloud")
    }
}

impl HttpConnector for Emulator {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let emulator = self.clone();
        HttpConnectorFuture::new(async move {
            let target = request.headers().get("x-amz-target").unwrap_or_default();
            let begun = emulator.begin(target);
            if !begun.delay.is_zero() {
                tokio::time::sleep(begun.delay).await;
            }
            let body = request.body().bytes().unwrap_or_default();
            let (status, answer) = emulator.answer(&begun, target, body);
            let status = StatusCode::try_from(status).expect("a status");
            Ok(HttpResponse::new(status, SdkBody::from(answer)))
        })
    }
}

impl Emulator {
    pub fn sdk(&self) -> SdkConfig {
        let (connector, credentials) =
            (self.clone(), Credentials::new("id", "secret", None, None, "bench"));
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .endpoint_url("http://cloud.invalid")
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .identity_cache(IdentityCache::no_cache())
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(connector.clone())))
            .build()
    }
}

/// The functions' settings. Settings that are not given here have their defaults.
pub fn config(redis_url: &str, numbers: &[(&str, usize)]) -> Config {
    // a bulk queue has the URL of the queue for small audiences
    let events = [POST_EVENTS.name, BULK_EVENTS.name];
    let chunks = [registry::CHUNKS.name, BULK_CHUNKS.name];
    let url = |queue: &QueueSpec| match queue.name {
        name if events.contains(&name) => EVENTS,
        name if chunks.contains(&name) => CHUNKS,
        name => name,
    };
    let urls = QUEUES
        .iter()
        .chain([&TIMER_EVENTS])
        .map(|queue| (queue.url.to_owned(), url(queue).to_owned()));
    let settings = [
        ("REDIS_URL", redis_url),
        ("USERS_TABLE", USERS),
        ("POSTS_TABLE", POSTS),
        ("GRAPH_TABLE", GRAPH),
        ("DUE_TABLE", DUE),
        ("MARKS_TABLE", MARKS),
        ("BOARDS_TABLE", BOARDS),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let numbers = numbers.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
    Config::from_pairs(settings.into_iter().chain(urls).chain(numbers))
}
