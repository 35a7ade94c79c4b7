//! Asks a server whether it is as the rest of this crate assumes. None of it touches a user's data.

use aws_config::SdkConfig;
use fanfold_core::limits::{PROBE_BUCKETS_MAX, VALKEY_ARGUMENTS_MAX};
use futures::future::join_all;
use redis::aio::ConnectionLike as _;
use redis::{ErrorKind, RedisResult, ServerErrorKind, Value};

use super::iam::Tokens;
use super::{Access, Link, Valkey, failed, scripts};
use crate::clock;
use crate::config::FeedSettings;
use crate::error::StoreError;

/// What a script learns from `INFO`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptInfo {
    Shown(String),
    /// It is refused, for this reason.
    Refused(String),
}

impl ScriptInfo {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let ScriptInfo::Shown(text) = self else { return None };
        text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))
    }
}

/// How a server treats a script that it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownScript {
    /// The hash alone is refused with `NOSCRIPT`, the text is run, and then the hash is known.
    Learned,
    /// The text is run, but the hash is not known afterwards.
    Forgotten,
    /// Something else.
    Other(String),
}

/// Why a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The user may not do this.
    Rights,
    /// The server has no memory left.
    Full,
    /// The server takes no writes.
    ReadOnly,
    Other,
}

impl Cause {
    pub fn of(error: &StoreError) -> Self {
        match error {
            StoreError::Valkey { source, .. } => Self::of_text(&source.to_string()),
            _ => Self::Other,
        }
    }

    /// Of an error as a server, or the redis crate, writes it.
    pub fn of_text(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        match () {
            () if has(&["noperm", "no permissions", "acl failure"]) => Self::Rights,
            () if has(&["oom ", "outofmemory", "used memory >"]) => Self::Full,
            () if has(&["readonly", "read only replica"]) => Self::ReadOnly,
            () => Self::Other,
        }
    }
}

impl Valkey {
    /// All buckets; where there are very many, some of them at even distances, so that every shard has one.
    fn some_buckets(&self) -> impl Iterator<Item = u16> {
        let buckets = self.keys.buckets();
        (0..buckets).step_by(usize::from(buckets).div_ceil(PROBE_BUCKETS_MAX))
    }

    /// Asks for a key in each of these buckets. Gives them with their answers.
    pub async fn ping_each(&self) -> Vec<(u16, Result<(), StoreError>)> {
        let ping = async |bucket| {
            let get = redis::cmd("GET").arg(self.keys.of_nobody("memory", bucket)).to_owned();
            let answer: RedisResult<Option<String>> = get.query_async(&mut self.link.clone()).await;
            (bucket, answer.map(drop).map_err(failed("asking whether Valkey answers")))
        };
        join_all(self.some_buckets().map(ping)).await
    }

    /// Writes a key in each of these buckets, and takes it away.
    pub async fn write_each(&self) -> Vec<Result<(), StoreError>> {
        let write = async |bucket| {
            let mut script = scripts::WRITE.call();
            script.key(self.keys.of_nobody("lock", bucket));
            script.run::<String>(&self.link, "writing a key").await.map(drop)
        };
        join_all(self.some_buckets().map(write)).await
    }

    /// A section of `INFO`, as a script in each of these buckets is told it.
    pub async fn info_each(&self, section: &str) -> Vec<Result<ScriptInfo, StoreError>> {
        let info = async |bucket| {
            let mut script = scripts::INFO.call();
            script.key(self.keys.of_nobody("memory", bucket)).arg(section);
            let (how, text): (String, String) =
                script.run(&self.link, "asking for INFO in a script").await?;
            Ok(if how == "shown" { ScriptInfo::Shown(text) } else { ScriptInfo::Refused(text) })
        };
        join_all(self.some_buckets().map(info)).await
    }

    /// Tries the commands of scripts on keys of each kind, in one bucket. Gives those that failed, with
    /// the reasons.
    pub async fn refused_commands(&self, bucket: u16) -> Result<Vec<String>, StoreError> {
        let mut refused = Vec::new();
        for kind in super::keys::KINDS {
            let mut script = scripts::TRY.call();
            let key = self.keys.of_nobody(kind, bucket);
            script.key(format!("{key}:text")).key(key);
            match script.ask::<Vec<String>>(&self.link).await {
                Ok(more) => refused.extend(more),
                // the key itself may be what is refused
                Err(error) if Cause::of_text(&error.to_string()) == Cause::Rights => {
                    refused.push(format!("{kind}: {error}"));
                }
                Err(error) => return Err(failed("trying commands")(error)),
            }
        }
        Ok(refused)
    }

    /// Sends the longest call that any script may make. Returns how many arguments arrived, and how many
    /// were sent.
    pub async fn longest_call(&self, bucket: u16) -> Result<(usize, usize), StoreError> {
        let mut script = scripts::COUNT.call();
        script.key(self.keys.of_nobody("memory", bucket));
        let sent = VALKEY_ARGUMENTS_MAX - script.len();
        script.arg(vec!["0"; sent]);
        Ok((script.run(&self.link, "sending the longest call").await?, sent))
    }

    /// Runs a script that no server has seen.
    pub async fn unknown_script(&self, bucket: u16) -> Result<UnknownScript, StoreError> {
        let number = clock::random() >> 32;
        let text = format!("return {number}");
        let hash = redis::Script::new(&text).get_hash().to_owned();
        let call = async |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(1).arg(self.keys.of_nobody("memory", bucket));
            self.link.clone().req_packed_command(&command).await
        };
        let no_script = ErrorKind::Server(ServerErrorKind::NoScript);
        match call("EVALSHA", &hash).await {
            Err(error) if error.kind() == no_script => {}
            Err(error) if is_refusal(&error) => return Ok(UnknownScript::Other(error.to_string())),
            Err(error) => return Err(failed("calling a script that is not known")(error)),
            Ok(value) => return Ok(UnknownScript::Other(format!("the answer {value:?}"))),
        }
        for (name, script) in [("EVAL", &text), ("EVALSHA", &hash)] {
            match call(name, script).await {
                Ok(value) if redis::from_redis_value::<u64>(value.clone()).ok() == Some(number) => {
                }
                Ok(value) => return Ok(UnknownScript::Other(format!("{name} answers {value:?}"))),
                Err(error) if name == "EVALSHA" && error.kind() == no_script => {
                    return Ok(UnknownScript::Forgotten);
                }
                Err(error) => return Err(failed("calling a new script")(error)),
            }
        }
        Ok(UnknownScript::Learned)
    }
}

/// Whether the server answered with an error that is not about the user's rights.
fn is_refusal(error: &redis::RedisError) -> bool {
    let is_answer = matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension);
    is_answer && Cause::of_text(&error.to_string()) != Cause::Rights
}

/// Opens a new connection with a token made for it, and shows a second token on that connection, as is
/// done every few hours. Returns whether IAM is used at all.
pub async fn log_in_twice(sdk: &SdkConfig, settings: &FeedSettings) -> Result<bool, StoreError> {
    let Some(login) = settings.iam.clone() else { return Ok(false) };
    let doing = "logging in with IAM";
    let client = |what: &'static str| (ErrorKind::Client, what).into();
    let tokens = Tokens::new(login.clone(), sdk);
    let tokens = tokens.map_err(|_| failed(doing)(client("there are no credentials")))?;
    let again = tokens.fresh().await.map_err(failed("signing a token"))?;
    let access = Access { authority: settings.authority.clone(), tokens: Some(tokens) };
    let link = Link::to(settings.redis.clone(), access).map_err(failed(doing))?;
    let fresh = Valkey::over(link, settings);
    let ping = redis::cmd("GET").arg(fresh.keys.of_nobody("memory", 0)).to_owned();
    let ping = async || -> Result<(), StoreError> {
        let answer: RedisResult<Value> = ping.query_async(&mut fresh.link.clone()).await;
        answer.map(drop).map_err(failed(doing))
    };
    ping().await?;
    let mut auth = redis::cmd("AUTH");
    auth.arg(&login.user).arg(again.password());
    let answer: RedisResult<Value> = auth.query_async(&mut fresh.link.clone()).await;
    answer.map_err(failed("logging in again on a connection"))?;
    ping().await?;
    Ok(true)
}
