//! Settings, read from the environment once, when a function starts. An error names the setting.

use std::collections::HashMap;
use std::fmt;

use fanfold_core::limits;

use crate::valkey::Address;
use crate::valkey::iam::Login;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("the setting {0} is missing")]
    Missing(&'static str),
    #[error("the setting {name} is {value:?}: it takes {takes}")]
    Bad { name: &'static str, value: String, takes: String },
}

/// The environment of the function. Each store takes from it what it needs, so a function only
/// has to be given what it uses.
#[derive(Clone, Default)]
pub struct Config(HashMap<String, String>);

/// How feeds are kept.
#[derive(Clone)]
pub struct FeedSettings {
    pub redis: Address,
    /// With IAM in place of a password.
    pub iam: Option<Login>,
    /// Certificates (PEM) of whom to trust in place of the public roots.
    pub authority: Option<Vec<u8>>,
    pub buckets: u16,
    pub cap: usize,
    pub inactive_after_s: u64,
}

/// How posts are brought to followers. All are numbers of followers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanOutSettings {
    /// In one message.
    pub chunk: usize,
    /// Up to so many are pushed to by dispatch itself.
    pub small: u64,
    /// More than so many go through queues of their own.
    pub bulk: u64,
    /// From so many on an author is pulled; 0: nobody is.
    pub pull: u64,
}

/// Names alone: among the values are credentials.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Config {
    pub fn from_env() -> Self {
        Self(std::env::vars().collect())
    }

    pub fn from_pairs<K: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self(pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }

    pub fn text(&self, name: &'static str) -> Result<String, ConfigError> {
        match self.0.get(name).map(|value| value.trim()) {
            None | Some("") => Err(ConfigError::Missing(name)),
            Some(value) => Ok(value.to_owned()),
        }
    }

    pub fn number(
        &self,
        name: &'static str,
        default: u64,
        allowed: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        let Ok(value) = self.text(name) else { return Ok(default) };
        match value.parse() {
            Ok(number) if allowed.contains(&number) => Ok(number),
            _ => {
                let takes = format!("a whole number from {} to {}", allowed.start(), allowed.end());
                Err(ConfigError::Bad { name, value, takes })
            }
        }
    }

    pub fn feeds(&self) -> Result<FeedSettings, ConfigError> {
        let cap = (limits::FEED_CAP_MIN as u64)..=(limits::FEED_CAP_MAX as u64);
        let buckets = self.number("BUCKETS", limits::BUCKETS_DEFAULT.into(), 1..=16_384)?;
        let redis = Address::parse(&self.text("REDIS_URL")?)?;
        Ok(FeedSettings {
            iam: Login::read(self, &redis)?,
            authority: self.authority(&redis)?,
            redis,
            buckets: buckets as u16,
            cap: self.number("FEED_CAP", limits::FEED_CAP_DEFAULT as u64, cap)? as usize,
            inactive_after_s: self.number(
                "INACTIVE_AFTER",
                limits::INACTIVE_AFTER_S_DEFAULT,
                1..=31_536_000,
            )?,
        })
    }

    fn authority(&self, redis: &Address) -> Result<Option<Vec<u8>>, ConfigError> {
        let name = "REDIS_CA_FILE";
        let Ok(path) = self.text(name) else { return Ok(None) };
        let bad = |takes: &str| {
            Err(ConfigError::Bad { name, value: path.clone(), takes: takes.to_owned() })
        };
        if !redis.is_tls() {
            return bad("a file only with TLS: REDIS_URL must be rediss:// or rediss-cluster://");
        }
        let Ok(pem) = std::fs::read(&path) else { return bad("a file that can be read") };
        if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
            return bad("a file of certificates in PEM form");
        }
        Ok(Some(pem))
    }

    fn chunk_followers(&self) -> Result<usize, ConfigError> {
        let allowed = 1..=(limits::CHUNK_FOLLOWERS_MAX as u64);
        let default = limits::CHUNK_FOLLOWERS_DEFAULT as u64;
        Ok(self.number("CHUNK_FOLLOWERS", default, allowed)? as usize)
    }

    pub fn fanout(&self) -> Result<FanOutSettings, ConfigError> {
        let number = |name, default, max| self.number(name, default, 0..=max);
        let (small, small_max) = (limits::SMALL_FOLLOWERS_DEFAULT, limits::SMALL_FOLLOWERS_MAX);
        let (bulk, bulk_max) = (limits::BULK_FOLLOWERS_DEFAULT, limits::BULK_FOLLOWERS_MAX);
        Ok(FanOutSettings {
            chunk: self.chunk_followers()?,
            small: number("SMALL_FOLLOWERS", small as u64, small_max as u64)?,
            bulk: number("BULK_FOLLOWERS", bulk, bulk_max)?,
            pull: number("PULL_FOLLOWERS", limits::PULL_FOLLOWERS_DEFAULT, bulk_max)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_setting_and_what_it_takes() {
        let missing = Config::default().feeds().err().unwrap();
        assert_eq!(missing.to_string(), "the setting REDIS_URL is missing");
        for (name, value) in [("FEED_CAP", "5"), ("BUCKETS", "0"), ("INACTIVE_AFTER", "7 days")] {
            let config = Config::from_pairs([("REDIS_URL", "redis://x"), (name, value)]);
            let error = config.feeds().err().unwrap().to_string();
            assert!(error.contains(name) && error.contains("whole number"), "{error}");
        }
    }

    #[test]
    fn nothing_that_is_printed_has_a_password() {
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
            let error = config.feeds().err().unwrap();
            for error in [error.to_string(), format!("{error:?}")] {
                assert!(error.contains("REDIS") || error.contains(name), "{error}");
                assert!(!error.contains("hunter2"), "{error}");
            }
        }
    }

    #[test]
    fn an_authority_is_a_file_of_certificates_and_wants_tls() {
        let folder = std::env::temp_dir().join(format!("fanfold-ca-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (empty, pem) = (folder.join("empty.pem"), folder.join("ca.pem"));
        std::fs::write(&empty, "no certificate").unwrap();
        std::fs::write(&pem, "-----BEGIN CERTIFICATE-----").unwrap();
        let feeds = |url: &str, path: &std::path::Path| {
            let path = path.to_str().unwrap();
            Config::from_pairs([("REDIS_URL", url), ("REDIS_CA_FILE", path)]).feeds()
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
        let feeds = Config::from_pairs([("REDIS_URL", "redis://x")]).feeds().unwrap();
        assert_eq!((feeds.buckets, feeds.cap, feeds.inactive_after_s), (256, 120, 604_800));
    }
}
