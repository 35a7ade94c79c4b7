//! The login to ElastiCache with IAM: a signed request is used instead of a password.
//!
//! The request is never sent to an HTTP server. It is presigned for `Action=connect`, is valid for 15 minutes,
//! and identifies its signer, so IAM decides who may connect to which cache as which user. See
//! <https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/auth-iam.html>.
//!
//! Each connection gets a token of its own when it is opened, so nothing has to run while a function is frozen.
//! ElastiCache ends a connection after 12 hours without a new token. A new token is sent every 3 hours. If a
//! function was frozen for too long, its connection is cut, and it opens another.

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
use fanfold_core::Time;
use fanfold_runtime::clock;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::log::Chain;
use futures::stream::{self, Stream};
use http::Request;
use redis::{BasicAuth, ErrorKind, RedisError, RedisResult, StreamingCredentialsProvider};
use tracing::subscriber::{NoSubscriber, with_default};

use super::address::{Address, refused};

/// The validity of a token, as AWS documents it.
const TOKEN_LIVES: Duration = Duration::from_secs(15 * 60);
/// The time between two tokens on one connection.
const RENEW_AFTER: Duration = Duration::from_secs(3 * 60 * 60);

/// The user and the cache of a login with IAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The user of the cache.
    pub user: String,
    /// The name of a serverless cache, or the id of a replication group.
    pub cache: String,
    /// Whether the cache is serverless.
    pub serverless: bool,
}

impl Login {
    /// Reads `REDIS_IAM_CACHE`, `REDIS_IAM_KIND` and the user in `REDIS_URL`. `None` if `REDIS_IAM_CACHE` is not
    /// set. Fails if a value is bad, or if the URL has no TLS, no user, or a password.
    pub fn read(config: &Config, address: &Address) -> Result<Option<Self>, ConfigError> {
        let Ok(cache) = config.text("REDIS_IAM_CACHE") else { return Ok(None) };
        let bad = |name, value: &str, takes: &str| {
            Err(ConfigError::Bad { name, value: value.to_owned(), takes: takes.to_owned() })
        };
        if !plain(&cache) {
            return bad(
                "REDIS_IAM_CACHE",
                &cache,
                "the name of a cache: a to z, 0 to 9 and hyphens",
            );
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
                "rediss:// or rediss-cluster:// with a user (a to z, 0 to 9 and hyphens) and without a \
                 password, because REDIS_IAM_CACHE is set, such as rediss-cluster://fanfold@host:6379",
            )),
        }
    }
}

/// Whether this is a name of `a-z`, `0-9` and `-`, which needs no encoding in a URL.
fn plain(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(allowed)
}

/// The token that is used as the password: a request without its scheme, signed at `now`.
pub fn token(
    login: &Login,
    credentials: &Credentials,
    region: &str,
    now: Time,
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
        .time(UNIX_EPOCH + Duration::from_millis(now.ms()))
        .settings(settings)
        .build()?;
    let request = SignableRequest::new("GET", &url, std::iter::empty(), SignableBody::Bytes(&[]))?;
    // without this, the level `trace` would log the session token, which is in the URL
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
    /// Fails if the region or the credentials are missing.
    pub fn new(login: Login, sdk: &SdkConfig) -> Result<Self, ConfigError> {
        let region = sdk.region().ok_or(ConfigError::Missing("AWS_REGION"))?.to_string();
        let credentials = sdk.credentials_provider();
        let credentials = credentials.ok_or(ConfigError::Missing("AWS_ACCESS_KEY_ID"))?;
        Ok(Self { login, region, credentials })
    }

    /// A user name and a new token.
    pub(super) async fn fresh(&self) -> RedisResult<BasicAuth> {
        let failed = |error: &dyn Error| -> RedisError {
            let why = Chain(error).to_string();
            (ErrorKind::AuthenticationFailed, "no token for ElastiCache", why).into()
        };
        let credentials = self.credentials.provide_credentials();
        let credentials = credentials.await.map_err(|error| failed(&error))?;
        let token = token(&self.login, &credentials, &self.region, clock::now());
        let token = token.map_err(|error| failed(&*error))?;
        Ok(BasicAuth::new(self.login.user.clone(), token))
    }
}

/// The redis crate subscribes twice for each connection: for the first `AUTH`, and for the renewals. A new
/// connection therefore sends two tokens.
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
