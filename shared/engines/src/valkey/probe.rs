//! Checks of the assumptions about Valkey, for `doctor`. They do not use the data of users.

use aws_config::SdkConfig;
use fanfold_core::Bucket;
use fanfold_core::kinds::KeyKind;
use fanfold_core::limits::VALKEY_ARGUMENTS_MAX;
use fanfold_runtime::clock;
use fanfold_runtime::error::StoreError;
use futures::future::join_all;
use redis::aio::ConnectionLike as _;
use redis::{ErrorKind, RedisResult, ServerErrorKind, Value};

use super::iam::Tokens;
use super::{Access, FeedSettings, Link, Valkey, failed, scripts};

/// Buckets that each check of Valkey asks. If there are more, the check asks some at even distances.
const PROBE_BUCKETS_MAX: usize = 256;

/// The answer to `INFO` within a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptInfo {
    /// The text.
    Shown(String),
    /// The server refuses the command, for this reason.
    Refused(String),
}

impl ScriptInfo {
    /// The value of a field. `None` if the field is missing or `INFO` is refused.
    pub fn field(&self, name: &str) -> Option<&str> {
        let ScriptInfo::Shown(text) = self else { return None };
        text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))
    }
}

/// How the server handles a script that it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownScript {
    /// It refuses the hash with `NOSCRIPT`, runs the text, and then knows the hash.
    Learned,
    /// It runs the text, but does not know the hash afterwards.
    Forgotten,
    /// It behaves in another way, which the text describes.
    Other(String),
}

/// The cause of a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The user lacks the right to it.
    Rights,
    /// The server has no memory left.
    Full,
    /// The server takes no writes.
    ReadOnly,
    /// Another cause.
    Other,
}

impl Cause {
    /// The cause of an error of a store.
    pub fn of(error: &StoreError) -> Self {
        match error {
            StoreError::Valkey { source, .. } => Self::of_text(&source.to_string()),
            _ => Self::Other,
        }
    }

    /// The cause of an error, from its text by the server or the redis crate.
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
    /// Whether the server of a bucket is full: it refuses a write because it has no memory left.
    pub async fn is_full(&self, bucket: Bucket) -> Result<bool, StoreError> {
        match self.write(bucket).await {
            Err(error) if Cause::of(&error) == Cause::Full => Ok(true),
            wrote => wrote.map(|()| false),
        }
    }

    /// Writes and deletes a key in a bucket.
    async fn write(&self, bucket: Bucket) -> Result<(), StoreError> {
        let mut script = scripts::WRITE.call();
        script.key(self.keys.probe(KeyKind::FeedLock, bucket));
        script.run::<String>(&self.link, "writing a key").await.map(drop)
    }

    /// All buckets, or [`PROBE_BUCKETS_MAX`] of them at even distances, so that every shard has one.
    fn some_buckets(&self) -> impl Iterator<Item = Bucket> {
        let every = usize::from(self.keys.buckets()).div_ceil(PROBE_BUCKETS_MAX);
        self.keys.all_buckets().step_by(every)
    }

    /// Reads a key in each of these buckets. Returns the buckets with the results.
    pub async fn ping_each(&self) -> Vec<(Bucket, Result<(), StoreError>)> {
        let ping = async |bucket| {
            let get = self.keys.probe(KeyKind::Memory, bucket).command("GET");
            let answer: RedisResult<Option<String>> = get.query_async(&mut self.link.clone()).await;
            (bucket, answer.map(drop).map_err(failed("checking whether Valkey answers")))
        };
        join_all(self.some_buckets().map(ping)).await
    }

    /// Writes and deletes a key in each of these buckets.
    pub async fn write_each(&self) -> Vec<Result<(), StoreError>> {
        join_all(self.some_buckets().map(|bucket| self.write(bucket))).await
    }

    /// Reads a section of `INFO` within a script, in each of these buckets.
    pub async fn info_each(&self, section: &str) -> Vec<Result<ScriptInfo, StoreError>> {
        let info = async |bucket| {
            let mut script = scripts::INFO.call();
            script.key(self.keys.probe(KeyKind::Memory, bucket)).arg(section);
            let (how, text): (String, String) =
                script.run(&self.link, "reading INFO in a script").await?;
            Ok(if how == "shown" { ScriptInfo::Shown(text) } else { ScriptInfo::Refused(text) })
        };
        join_all(self.some_buckets().map(info)).await
    }

    /// Tries the commands of all scripts on keys of each kind, in one bucket. Returns the refused commands with
    /// the reasons.
    pub async fn refused_commands(&self, bucket: Bucket) -> Result<Vec<String>, StoreError> {
        let mut refused = Vec::new();
        for kind in KeyKind::all() {
            let mut script = scripts::TRY.call();
            script.key(self.keys.probe_text(kind, bucket)).key(self.keys.probe(kind, bucket));
            match script.ask::<Vec<String>>(&self.link).await {
                Ok(more) => refused.extend(more),
                // the user may lack the right to the key itself
                Err(error) if Cause::of_text(&error.to_string()) == Cause::Rights => {
                    refused.push(format!("{}: {error}", kind.name()));
                }
                Err(error) => return Err(failed("trying commands")(error)),
            }
        }
        Ok(refused)
    }

    /// Sends the longest allowed call. Returns the number of arguments that arrived, and the number that were
    /// sent.
    pub async fn longest_call(&self, bucket: Bucket) -> Result<(usize, usize), StoreError> {
        let mut script = scripts::COUNT.call();
        script.key(self.keys.probe(KeyKind::Memory, bucket));
        let sent = VALKEY_ARGUMENTS_MAX - script.len();
        script.arg(vec!["0"; sent]);
        Ok((script.run(&self.link, "sending the longest call").await?, sent))
    }

    /// Runs a new script, which the server cannot know.
    pub async fn unknown_script(&self, bucket: Bucket) -> Result<UnknownScript, StoreError> {
        let number = clock::random() >> 32;
        let text = format!("return {number}");
        let hash = redis::Script::new(&text).get_hash().to_owned();
        let call = async |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(1).arg(self.keys.probe(KeyKind::Memory, bucket));
            self.link.clone().req_packed_command(&command).await
        };
        let no_script = ErrorKind::Server(ServerErrorKind::NoScript);
        match call("EVALSHA", &hash).await {
            Err(error) if error.kind() == no_script => {}
            Err(error) if is_refusal(&error) => return Ok(UnknownScript::Other(error.to_string())),
            Err(error) => return Err(failed("calling an unknown script")(error)),
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

/// Whether the server answered with an error that has another cause than the user's rights.
fn is_refusal(error: &redis::RedisError) -> bool {
    let is_answer = matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension);
    is_answer && Cause::of_text(&error.to_string()) != Cause::Rights
}

/// Opens a new connection with an IAM token, and sends a second token on it, like the renewal every few hours.
/// Returns false if the login does not use IAM.
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
    let ping = fresh.keys.probe(KeyKind::Memory, Bucket(0)).command("GET");
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
