//! A way into ElastiCache without a password: it takes a signed request in place of one.
//!
//! The request is never sent. It is presigned for `Action=connect`, good for 15 minutes, and tells who
//! signed it; so IAM decides who may connect to which cache, and as whom. See
//! <https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/auth-iam.html>.
//!
//! Each connection is opened with a token made for it, so nothing need run while a function is frozen.
//! A connection is ended after 12 hours unless a new token is shown on it, which is done long before.
//! A function that slept too long for that finds its connection cut, and makes another.

use std::error::Error;
use std::pin::Pin;
use std::time::{Duration, UNIX_EPOCH};

use aws_config::SdkConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use axum::http::Request;
use futures::stream::{self, Stream};
use redis::{BasicAuth, ErrorKind, RedisError, RedisResult, StreamingCredentialsProvider};
use tracing::subscriber::{NoSubscriber, with_default};

use super::address::{Address, refused};
use crate::clock;
use crate::config::{Config, ConfigError};
use crate::log::Chain;

const TOKEN_LIVES: Duration = Duration::from_secs(15 * 60);
const RENEW_AFTER: Duration = Duration::from_secs(3 * 60 * 60);

/// Who connects, and to which cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    /// The name of a serverless cache, or the id of a replication group.
    pub cache: String,
    pub serverless: bool,
}

impl Login {
    /// From `REDIS_IAM_CACHE`, `REDIS_IAM_KIND` and the user in `REDIS_URL`; none without a cache.
    pub fn read(config: &Config, address: &Address) -> Result<Option<Self>, ConfigError> {
        let Ok(cache) = config.text("REDIS_IAM_CACHE") else { return Ok(None) };
        let bad = |name, value: &str, takes: &str| {
            Err(ConfigError::Bad { name, value: value.to_owned(), takes: takes.to_owned() })
        };
        if !plain(&cache) {
            return bad("REDIS_IAM_CACHE", &cache, "a cache's name: a to z, 0 to 9 and hyphens");
        }
        let serverless = match config.text("REDIS_IAM_KIND").as_deref() {
            Err(_) | Ok("serverless") => true,
            Ok("replication-group") => false,
            Ok(kind) => {
                return bad("REDIS_IAM_KIND", kind, "serverless or replication-group");
            }
        };
        match address.user() {
            Some(user) if address.is_tls() && !address.has_password() && plain(user) => {
                Ok(Some(Self { user: user.to_owned(), cache, serverless }))
            }
            _ => Err(refused(
                &config.text("REDIS_URL")?,
                "with REDIS_IAM_CACHE, rediss:// or rediss-cluster:// with a user (a to z, 0 to 9 \
                 and hyphens) and without a password, such as rediss-cluster://fanfold@host:6379",
            )),
        }
    }
}

/// What names of caches and users are made of. None of it is written otherwise in a URL.
fn plain(name: &str) -> bool {
    let taken = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(taken)
}

/// The request that stands for a password, signed at this time.
pub fn token(
    login: &Login,
    credentials: &Credentials,
    region: &str,
    now_ms: u64,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let Login { user, cache, serverless } = login;
    let kind = if *serverless { "&ResourceType=ServerlessCache" } else { "" };
    let url = format!("http://{cache}/?Action=connect&User={user}{kind}");
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(TOKEN_LIVES);
    let identity = credentials.clone().into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("elasticache")
        .time(UNIX_EPOCH + Duration::from_millis(now_ms))
        .settings(settings)
        .build()?;
    let request = SignableRequest::new("GET", &url, std::iter::empty(), SignableBody::Bytes(&[]))?;
    // at LOG_LEVEL trace it would log the session token, which stands in the URL
    let signing = || sign(request, &params.into());
    let (instructions, _) = with_default(NoSubscriber::new(), signing)?.into_parts();
    let mut signed = Request::get(&url).body(())?;
    instructions.apply_to_request_http1x(&mut signed);
    Ok(signed.uri().to_string().trim_start_matches("http://").to_owned())
}

/// Makes tokens with the function's own credentials.
#[derive(Clone)]
pub struct Tokens {
    login: Login,
    region: String,
    credentials: SharedCredentialsProvider,
}

impl Tokens {
    pub fn new(login: Login, sdk: &SdkConfig) -> Result<Self, ConfigError> {
        let region = sdk.region().ok_or(ConfigError::Missing("AWS_REGION"))?.to_string();
        let credentials = sdk.credentials_provider();
        let credentials = credentials.ok_or(ConfigError::Missing("AWS_ACCESS_KEY_ID"))?;
        Ok(Self { login, region, credentials })
    }

    pub(super) async fn fresh(&self) -> RedisResult<BasicAuth> {
        let failed = |error: &dyn Error| -> RedisError {
            let why = Chain(error).to_string();
            (ErrorKind::AuthenticationFailed, "no token for ElastiCache", why).into()
        };
        let credentials = self.credentials.provide_credentials();
        let credentials = credentials.await.map_err(|error| failed(&error))?;
        let token = token(&self.login, &credentials, &self.region, clock::now_ms());
        let token = token.map_err(|error| failed(&*error))?;
        Ok(BasicAuth::new(self.login.user.clone(), token))
    }
}

/// The redis crate subscribes anew for each connection: once for the first `AUTH` and once more for
/// those that renew it, so a new connection sends two.
impl StreamingCredentialsProvider for Tokens {
    fn subscribe(&self) -> Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send + 'static>> {
        let wait_and_make = async |(tokens, wait): (Tokens, Duration)| {
            tokio::time::sleep(wait).await;
            Some((tokens.fresh().await, (tokens, RENEW_AFTER)))
        };
        Box::pin(stream::unfold((self.clone(), Duration::ZERO), wait_and_make))
    }
}

#[cfg(test)]
mod tests;
