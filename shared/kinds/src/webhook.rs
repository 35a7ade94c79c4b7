//! The webhook: posts the timers that were due to the operator's address. The requests are signed as the specification
//! [Standard Webhooks](https://www.standardwebhooks.com) 1.0 says, so its libraries verify them.
//!
//! | answer | |
//! | --- | --- |
//! | 2xx | done |
//! | 410 Gone | done: the receiver does not want the message |
//! | anything else, or none | [`StoreError::Webhook`]: tried again for [`WEBHOOK_TRIED_FOR`], then a dead letter |
//!
//! Redirects are not followed, so the receiver cannot direct a request elsewhere. Only the head of an answer is read. A
//! header `Retry-After` is ignored, because the pauses grow anyway.
//!
//! The address can contain a token in its path or query. No log line and no error therefore has a part of the address
//! or of the secret.
//!
//! [`WEBHOOK_TRIED_FOR`]: fanfold_core::limits::WEBHOOK_TRIED_FOR
//!
//! **Webhooks.** A message that the receiver does not take waits for a quarter of the time since its first failure, at
//! least 1 s and at most 15 minutes. From a minute on, it waits as a new message with a delay. After 24 hours it
//! becomes a dead letter, which `cargo local redrive webhooks` returns to its queue. 410 means that the receiver does
//! not want the message, so it is dropped. Redirects count as failures. A failing receiver does not delay timers:
//! `due` only sends to the queue.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fanfold_core::Time;
use fanfold_core::message::Received as _;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::ConfigError;
use fanfold_runtime::error::BoxError;
use fanfold_runtime::{Config, StartError, StoreError, clock, metrics};
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use standardwebhooks::{
    HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook as Signer,
};

use crate::timers::messages::TimerFired;

/// How long a webhook may take to answer.
const WEBHOOK_ANSWER_WITHIN: Duration = Duration::from_secs(15);

const URL: &str = "WEBHOOK_URL";
const SECRET: &str = "WEBHOOK_SECRET";
const SECRET_PREFIX: &str = "whsec_";
/// The allowed forms of the address, for an error.
const ADDRESS_TAKES: &str = "an https:// address without user and password, or an http:// address \
                             of 127.0.0.1 or localhost";
/// The lengths of a key that the specification allows.
const KEY_BYTES: RangeInclusive<usize> = 24..=64;
/// The most bytes of an answer's head that are read.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const AGENT: &str = concat!("Fanfold/", env!("CARGO_PKG_VERSION"));

/// The receiver of webhooks.
pub struct Webhook {
    /// `None`: the operator has no address.
    receiver: Option<Receiver>,
    /// How long the receiver may take to answer, including the connection.
    pub answer_within: Duration,
}

struct Receiver {
    address: Uri,
    signer: Signer,
    client: Client<HttpsConnector<HttpConnector>, String>,
}

impl Webhook {
    /// Reads `WEBHOOK_URL` and `WEBHOOK_SECRET`. If `WEBHOOK_URL` is missing or empty, there is no receiver. An error
    /// names the setting, and shows neither the address nor the secret.
    pub fn new(_sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let receiver = match address(config)? {
            Some(address) => Some(Receiver { address, signer: signer(config)?, client: client()? }),
            None => None,
        };
        Ok(Self { receiver, answer_within: WEBHOOK_ANSWER_WITHIN })
    }
}

/// Posts a timer that was due. `now` is the time of this try. Repetitions of a message have the same `webhook-id`.
///
/// Fails with [`StoreError::Webhook`] if the receiver does not take the message.
pub async fn deliver(app: &Webhook, message: &TimerFired, now: Time) -> Result<(), StoreError> {
    let id = message.id.as_str();
    let Some(receiver) = &app.receiver else {
        tracing::warn!(id, "dropped a webhook, because {URL} is empty");
        return Ok(());
    };
    match receiver.post(message, now, app.answer_within).await {
        Ok(status) if status.is_success() => {
            tracing::info!(id, status = status.as_u16(), "posted a webhook");
            Ok(())
        }
        Ok(StatusCode::GONE) => {
            tracing::warn!(id, "dropped a webhook: its receiver answered 410 Gone");
            Ok(())
        }
        Ok(status) => Err(failed(format!("the receiver answered {status}").into())),
        Err(source) => Err(failed(source)),
    }
}

fn failed(source: BoxError) -> StoreError {
    metrics::webhook_failed();
    StoreError::Webhook { source }
}

impl Receiver {
    /// Posts a message, and returns the status of the answer.
    async fn post(
        &self,
        message: &TimerFired,
        now: Time,
        answer_within: Duration,
    ) -> Result<StatusCode, BoxError> {
        let body = message.encode()?;
        let timestamp = (now.ms() / 1_000) as i64;
        let signature = self.signer.sign(&message.id, timestamp, body.as_bytes())?;
        let request = Request::post(self.address.clone())
            .header(USER_AGENT, AGENT)
            .header(CONTENT_TYPE, "application/json")
            .header(HEADER_WEBHOOK_ID, message.id.as_str())
            .header(HEADER_WEBHOOK_TIMESTAMP, timestamp)
            .header(HEADER_WEBHOOK_SIGNATURE, signature)
            .body(body)?;
        match clock::within(answer_within, self.client.request(request)).await {
            Some(answer) => Ok(answer?.status()),
            None => Err(format!("no answer within {answer_within:?}").into()),
        }
    }
}

/// The client of the receiver: the HTTP and TLS stack of the AWS clients, and the same roots. It knows neither
/// redirects nor proxies nor cookies.
fn client() -> io::Result<Client<HttpsConnector<HttpConnector>, String>> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(provider)?
        .https_or_http()
        .enable_http1()
        .build();
    let client = Client::builder(TokioExecutor::new())
        // Lambda freezes the environment between invocations, so a connection that was kept may be dead
        .pool_max_idle_per_host(0)
        .http1_max_buf_size(HEAD_BYTES_MAX)
        .build(connector);
    Ok(client)
}

/// The receiver's address. `None` if the operator has none.
fn address(config: &Config) -> Result<Option<Uri>, ConfigError> {
    let Ok(text) = config.text(URL) else { return Ok(None) };
    let address = text.parse::<Uri>().ok().filter(is_allowed);
    address.map(Some).ok_or_else(|| bad(URL, ADDRESS_TAKES))
}

/// Whether an address is encrypted, or leads to this machine. The latter is for tests and the local cloud. Release
/// builds allow it too: the binary that is tested is then the one that is deployed, and in Lambda nothing that such an
/// address names leaves the function's environment. (The template accepts https alone.)
fn is_allowed(address: &Uri) -> bool {
    // a user in the address would not be sent
    let has_user = address.authority().is_none_or(|authority| authority.as_str().contains('@'));
    match (address.scheme_str(), address.host()) {
        _ if has_user => false,
        (Some("https"), Some(host)) => !host.is_empty(),
        (Some("http"), Some(host)) => ["127.0.0.1", "localhost"].contains(&host),
        _ => false,
    }
}

/// The signer with the key in `WEBHOOK_SECRET`.
fn signer(config: &Config) -> Result<Signer, ConfigError> {
    let text = config.text(SECRET)?;
    let key = text.strip_prefix(SECRET_PREFIX).and_then(|key| STANDARD.decode(key).ok());
    let key = key.filter(|key| KEY_BYTES.contains(&key.len()));
    let signer = key.and_then(|key| Signer::from_bytes(key).ok());
    signer.ok_or_else(|| bad(SECRET, "whsec_ and 24 to 64 bytes in base64"))
}

/// An error about a setting that does not show the value.
fn bad(name: &'static str, takes: &str) -> ConfigError {
    ConfigError::Bad { name, value: "…".to_owned(), takes: takes.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    use fanfold_core::UserId;
    use fanfold_runtime::log::Chain;

    use super::*;

    const GOOD: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

    fn fired() -> TimerFired {
        let owner = (UserId(1), "renew".parse().unwrap());
        TimerFired::new(owner, "r", Time::from_ms(9), 0, serde_json::json!({"a": 1}))
    }

    fn webhook(url: &str, secret: &str) -> Result<Webhook, StartError> {
        let config = Config::from_pairs([(URL, url), (SECRET, secret)]);
        Webhook::new(&SdkConfig::builder().build(), &config)
    }

    /// The vector that the libraries of the specification test.
    #[test]
    fn a_signature_is_that_of_the_specification() {
        let signer = signer(&Config::from_pairs([(SECRET, GOOD)])).unwrap();
        let body = br#"{"email":"test@example.com","username":"test_user"}"#;
        let signed = signer.sign("msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553, body);
        assert_eq!(signed.unwrap(), "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    }

    #[test]
    fn a_secret_has_24_to_64_bytes_and_is_never_shown() {
        let secret = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![0xa5; bytes]));
        let read = |secret: &str| signer(&Config::from_pairs([(SECRET, secret)]));
        for bytes in [24, 32, 64] {
            assert!(read(&secret(bytes)).is_ok(), "{bytes} bytes");
        }
        assert_eq!(read(" ").err().unwrap().to_string(), "the setting WEBHOOK_SECRET is missing");
        let without_prefix = secret(32).replace("whsec_", "");
        let private = secret(32).replace("whsec_", "whsk_");
        let unpadded = secret(32).replace('=', "");
        for bad in [&secret(0), &secret(23), &secret(65), &without_prefix, &private, &unpadded] {
            let error = read(bad).err().unwrap();
            for error in [error.to_string(), format!("{error:?}")] {
                assert!(error.contains("WEBHOOK_SECRET"), "{error}");
                assert!(!error.contains("paWl"), "{error}");
            }
        }
    }

    #[test]
    fn an_address_is_encrypted_or_of_this_machine_and_is_never_shown() {
        for good in [
            "https://example.com",
            "https://example.com:8443/hook?token=a%20b",
            "https://10.0.0.1/",
            "http://127.0.0.1:8080/hook",
            "http://localhost/hook",
        ] {
            assert!(webhook(good, GOOD).is_ok(), "{good}");
        }
        for bad in [
            "hunter2",
            "/hunter2",
            "example.com/hunter2",
            "http://example.com/hunter2",
            "http://127.0.0.2/hunter2",
            "http://127.0.0.1.example.com/hunter2",
            "http://127.0.0.1@example.com/hunter2",
            "http://[::1]/hunter2",
            "https://",
            "https://user:hunter2@example.com/",
            "https://example.com/hunter2 hunter3",
            "ftp://127.0.0.1/hunter2",
            "file:///hunter2",
        ] {
            let error = webhook(bad, GOOD).err().unwrap();
            for error in [error.to_string(), format!("{error:?}")] {
                assert!(error.contains("WEBHOOK_URL"), "{bad}: {error}");
                assert!(!error.contains("hunter") && !error.contains("example"), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn without_an_address_messages_are_dropped() {
        for url in ["", "  "] {
            // the secret is not read
            let app = webhook(url, "not a secret").unwrap();
            deliver(&app, &fired(), Time::from_ms(9)).await.unwrap();
        }
        let error = webhook("https://example.com", "").err().unwrap().to_string();
        assert_eq!(error, "the setting WEBHOOK_SECRET is missing");
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(line)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines of the HTTP client, at the level `debug`, are checked too.
    #[tokio::test]
    async fn neither_secret_nor_address_is_logged() {
        let lines = Lines::default();
        let to = lines.clone();
        let log = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_writer(move || to.clone())
            .finish();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{port}/hunter2/hook?token=hunter3");
        let mut app = webhook(&url, GOOD).unwrap();
        app.answer_within = Duration::from_millis(100);
        let logged = tracing::subscriber::set_default(log);
        tracing::debug!("a line");
        // the listener does not answer; then the port is closed
        let unanswered = deliver(&app, &fired(), Time::from_ms(9)).await.unwrap_err();
        drop(listener);
        let refused = deliver(&app, &fired(), Time::from_ms(9)).await.unwrap_err();
        drop(logged);
        let mut written = String::from_utf8_lossy(&lines.0.lock().unwrap()).into_owned();
        assert!(written.contains("a line"), "nothing was logged: {written}");
        for (error, reason) in [(unanswered, "no answer within 100ms"), (refused, "client error")] {
            let text = Chain(&error).to_string();
            assert!(text.starts_with("posting a webhook: ") && text.contains(reason), "{text}");
            written += &format!("{text} {error:?}");
        }
        for secret in ["hunter", "C2FVsBQI", "v1,"] {
            assert!(!written.contains(secret), "{written}");
        }
    }
}
