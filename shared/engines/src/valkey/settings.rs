//! The settings of Valkey and of the feeds in it.

use std::time::Duration;

use fanfold_core::limits;
use fanfold_runtime::config::{Config, ConfigError};

use super::Address;
use super::iam::Login;
use crate::buckets::buckets;

/// The settings of the feeds in Valkey.
#[derive(Clone)]
pub struct FeedSettings {
    /// The address of the server or cluster.
    pub redis: Address,
    /// The login with IAM, if it is used instead of a password.
    pub iam: Option<Login>,
    /// Certificates (PEM) that are trusted instead of the public roots.
    pub authority: Option<Vec<u8>>,
    /// The number of buckets.
    pub buckets: u16,
    /// The most members of a feed (`FEED_CAP`).
    pub cap: usize,
    /// Seconds without a read after which a feed is dropped.
    pub inactive_after: Duration,
    /// MiB that cards may take (`CARD_MEMORY`).
    pub card_memory: u64,
}

impl FeedSettings {
    /// Reads `REDIS_URL`, `REDIS_IAM_CACHE`, `REDIS_IAM_KIND`, `REDIS_CA_FILE`, `BUCKETS`, `FEED_CAP`,
    /// `INACTIVE_AFTER` and `CARD_MEMORY`. An error names the setting.
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let cap = (limits::FEED_CAP_MIN as u64)..=(limits::FEED_CAP_MAX as u64);
        let address = Address::parse(&config.text("REDIS_URL")?)?;
        let cap = config.number("FEED_CAP", limits::FEED_CAP_DEFAULT as u64, cap)?;
        let inactive_after = config.number(
            "INACTIVE_AFTER",
            limits::INACTIVE_AFTER_DEFAULT.as_secs(),
            1..=31_536_000,
        )?;
        let card_memory = (limits::CARD_MEMORY_DEFAULT, 1..=limits::CARD_MEMORY_MAX);
        Ok(Self {
            card_memory: config.number("CARD_MEMORY", card_memory.0, card_memory.1)?,
            iam: Login::read(config, &address)?,
            authority: authority(config, &address)?,
            redis: address,
            buckets: buckets(config)?,
            cap: cap as usize,
            inactive_after: Duration::from_secs(inactive_after),
        })
    }

    /// The most entries of the queue of cards of a bucket, each for [`limits::CARD_UNIT_BYTES`] bytes.
    pub(super) fn card_entries(&self) -> usize {
        let units = self.card_memory as usize * 1024 * 1024 / limits::CARD_UNIT_BYTES;
        (units / usize::from(self.buckets.max(1))).max(1)
    }
}

fn authority(config: &Config, address: &Address) -> Result<Option<Vec<u8>>, ConfigError> {
    let name = "REDIS_CA_FILE";
    let Ok(path) = config.text(name) else { return Ok(None) };
    let bad =
        |takes: &str| Err(ConfigError::Bad { name, value: path.clone(), takes: takes.to_owned() });
    if !address.is_tls() {
        return bad("unset, or REDIS_URL must be rediss:// or rediss-cluster://");
    }
    let Ok(pem) = std::fs::read(&path) else { return bad("the path of a file that can be read") };
    if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
        return bad("a file of certificates in PEM form");
    }
    Ok(Some(pem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_setting_and_its_allowed_values() {
        let missing = FeedSettings::read(&Config::default()).err().unwrap();
        assert_eq!(missing.to_string(), "the setting REDIS_URL is missing");
        for (name, value) in [("FEED_CAP", "5"), ("BUCKETS", "0"), ("INACTIVE_AFTER", "7 days")] {
            let config = Config::from_pairs([("REDIS_URL", "redis://x"), (name, value)]);
            let error = FeedSettings::read(&config).err().unwrap().to_string();
            assert!(error.contains(name) && error.contains("whole number"), "{error}");
        }
    }

    #[test]
    fn no_error_or_debug_text_has_a_password() {
        let url = "redis://user:hunter2@cache";
        let config = Config::from_pairs([("REDIS_URL", url), ("AWS_SECRET_ACCESS_KEY", "hunter2")]);
        let printed = format!("{config:?}");
        assert!(printed.contains("REDIS_URL") && !printed.contains("hunter2"), "{printed}");
        for (name, value) in [
            ("REDIS_IAM_CACHE", "feeds"),
            ("REDIS_CA_FILE", "/no/such/file"),
            ("FEED_CAP", "5"),
            ("REDIS_URL", "redis://user:hunter2"),
        ] {
            let config = Config::from_pairs([("REDIS_URL", url), (name, value)]);
            let error = FeedSettings::read(&config).err().unwrap();
            for error in [error.to_string(), format!("{error:?}")] {
                assert!(error.contains("REDIS") || error.contains(name), "{error}");
                assert!(!error.contains("hunter2"), "{error}");
            }
        }
    }

    #[test]
    fn an_authority_is_a_file_of_certificates_and_needs_tls() {
        let folder = std::env::temp_dir().join(format!("fanfold-ca-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (empty, pem) = (folder.join("empty.pem"), folder.join("ca.pem"));
        std::fs::write(&empty, "no certificate").unwrap();
        std::fs::write(&pem, "-----BEGIN CERTIFICATE-----").unwrap();
        let feeds = |url: &str, path: &std::path::Path| {
            let path = path.to_str().unwrap();
            FeedSettings::read(&Config::from_pairs([("REDIS_URL", url), ("REDIS_CA_FILE", path)]))
        };
        for (url, path) in
            [("redis://cache", &pem), ("rediss://cache", &empty), ("rediss://cache", &folder)]
        {
            let error = feeds(url, path).err().unwrap().to_string();
            assert!(error.contains("REDIS_CA_FILE"), "{error}");
        }
        assert!(feeds("rediss-cluster://cache", &pem).unwrap().authority.is_some());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let feeds = FeedSettings::read(&Config::from_pairs([("REDIS_URL", "redis://x")])).unwrap();
        assert_eq!((feeds.buckets, feeds.cap, feeds.inactive_after.as_secs()), (256, 120, 604_800));
    }
}
