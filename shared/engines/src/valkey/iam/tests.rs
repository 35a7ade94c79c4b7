use aws_config::Region;
use futures::StreamExt as _;
use tokio::time::Instant;

use super::*;
use crate::valkey::FeedSettings;

fn login(url: &str, kind: &str) -> Result<Option<Login>, ConfigError> {
    let config = [("REDIS_URL", url), ("REDIS_IAM_CACHE", "feeds-1"), ("REDIS_IAM_KIND", kind)];
    Ok(FeedSettings::read(&Config::from_pairs(config))?.iam)
}

#[test]
fn a_login_with_iam_needs_tls_and_a_user_without_a_password() {
    let some = |serverless| {
        Some(Login { user: "fanfold".to_owned(), cache: "feeds-1".to_owned(), serverless })
    };
    for url in ["rediss://fanfold@cache", "rediss-cluster://fanfold@a:6379,b:6379"] {
        assert_eq!(login(url, "").unwrap(), some(true));
        assert_eq!(login(url, "serverless").unwrap(), some(true));
        assert_eq!(login(url, "replication-group").unwrap(), some(false));
    }
    for url in [
        "redis://fanfold@cache",
        "redis-cluster://fanfold@cache",
        "rediss://cache",
        "rediss://fanfold:secret@cache",
        "rediss://:secret@cache",
        "rediss-cluster://fanfold:secret@cache",
        "rediss://fan%20fold@cache",
    ] {
        let error = login(url, "").unwrap_err();
        for error in [error.to_string(), format!("{error:?}")] {
            assert!(error.contains("REDIS_URL") && error.contains("REDIS_IAM_CACHE"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
    let kind = login("rediss://fanfold@cache", "cluster").unwrap_err().to_string();
    assert!(kind.contains("REDIS_IAM_KIND") && kind.contains("replication-group"), "{kind}");
    let url = ("REDIS_URL", "rediss://fanfold@cache");
    for cache in ["Feeds", "a/b", "feeds.serverless.use1.cache.amazonaws.com"] {
        let config = Config::from_pairs([url, ("REDIS_IAM_CACHE", cache)]);
        let error = FeedSettings::read(&config).err().unwrap().to_string();
        assert!(error.contains("REDIS_IAM_CACHE"), "{error}");
    }
    for none in [vec![url], vec![url, ("REDIS_IAM_CACHE", "")]] {
        assert_eq!(FeedSettings::read(&Config::from_pairs(none)).unwrap().iam, None);
    }
}

fn tokens() -> Tokens {
    let credentials = Credentials::new("AKID", "hunter2", Some("hunter3".into()), None, "test");
    let sdk = SdkConfig::builder()
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    Tokens::new(login("rediss://fanfold@cache", "").unwrap().unwrap(), &sdk).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_gets_a_token_at_once_and_another_before_twelve_hours() {
    let mut made = tokens().subscribe();
    let start = Instant::now();
    let first = made.next().await.unwrap().unwrap();
    assert_eq!((first.username(), start.elapsed().as_secs()), ("fanfold", 0));
    assert!(first.password().starts_with("feeds-1/?Action=connect&User=fanfold&"));
    assert!(first.password().contains("&X-Amz-Expires=900&"), "{}", first.password());
    for renewal in 1..=3 {
        made.next().await.unwrap().unwrap();
        assert_eq!(start.elapsed(), RENEW_AFTER * renewal);
    }
    assert!(RENEW_AFTER.as_secs() < 12 * 60 * 60);
}

#[tokio::test]
async fn an_error_names_the_missing_region_or_credentials() {
    let login = login("rediss://fanfold@cache", "").unwrap().unwrap();
    let sdk = SdkConfig::builder().build();
    let error = Tokens::new(login.clone(), &sdk).err().unwrap();
    assert_eq!(error, ConfigError::Missing("AWS_REGION"));
    let sdk = SdkConfig::builder().region(Region::new("eu-west-1")).build();
    let error = Tokens::new(login, &sdk).err().unwrap();
    assert_eq!(error, ConfigError::Missing("AWS_ACCESS_KEY_ID"));
}

/// The lines of the signing library, at the level `trace`, are checked too.
#[tokio::test]
async fn neither_secret_nor_token_is_logged_or_printed() {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl Write for Lines {
        fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(line)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let lines = Lines::default();
    let to = lines.clone();
    let log = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || to.clone())
        .finish();
    let logged = tracing::subscriber::set_default(log);
    tracing::trace!("a line");
    let made = tokens().fresh().await.unwrap();
    drop(logged);
    let lines = lines.0.lock().unwrap().clone();
    let written = String::from_utf8_lossy(&lines).into_owned() + &format!("{made:?}");
    let signature = made.password().split("X-Amz-Signature=").nth(1).unwrap().get(..64).unwrap();
    assert!(written.contains("a line"), "nothing was logged: {written}");
    for secret in ["hunter2", "hunter3", signature] {
        assert!(!written.contains(secret), "{written}");
    }
}
