//! Asks a server whether it is as the rest of this crate assumes. None of it touches a user's data.

use aws_config::SdkConfig;
use fanfold_core::limits::VALKEY_ARGUMENTS_MAX;
use redis::aio::ConnectionLike as _;
use redis::{ErrorKind, RedisResult, ServerErrorKind, Value};

use super::iam::Tokens;
use super::{Access, Link, Valkey, failed, scripts};
use crate::clock;
use crate::config::FeedSettings;
use crate::error::StoreError;

/// What a server tells of itself within a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Text(String),
    /// It refuses to tell, for this reason.
    Refused(String),
}

impl Told {
    /// The value of a field of `INFO`.
    pub fn field(&self, name: &str) -> Option<&str> {
        let Told::Text(text) = self else { return None };
        text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))
    }
}

/// How a server treats a script that it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// As it should: the hash alone is refused, the text is run, and then the hash is known.
    Answered,
    /// Something else.
    Other(String),
}

impl Valkey {
    pub async fn ping(&self) -> Result<(), StoreError> {
        let ping = redis::cmd("GET").arg(self.keys.of_nobody("memory")).to_owned();
        let answer: RedisResult<Option<String>> = ping.query_async(&mut self.link.clone()).await;
        answer.map(drop).map_err(failed("asking whether Valkey answers"))
    }

    /// The commands that this user may not run on keys of some kind, with the reasons.
    pub async fn refused_commands(&self) -> Result<Vec<String>, StoreError> {
        let mut refused = Vec::new();
        for kind in super::keys::KINDS {
            let mut script = scripts::TRY.call();
            script.key(self.keys.of_nobody(kind));
            match script.ask::<Vec<String>>(&self.link).await {
                Ok(more) => refused.extend(more),
                // the key itself may be what is refused
                Err(error) if error.code() == Some("NOPERM") => {
                    refused.push(format!("{kind}: {error}"));
                }
                Err(error) => return Err(failed("trying commands")(error)),
            }
        }
        Ok(refused)
    }

    /// A section of `INFO`, as a script is told it.
    pub async fn info_in_script(&self, section: &str) -> Result<Told, StoreError> {
        let mut script = scripts::INFO.call();
        script.key(self.keys.of_nobody("memory")).arg(section);
        let (how, text): (String, String) =
            script.run(&self.link, "asking for INFO in a script").await?;
        Ok(if how == "told" { Told::Text(text) } else { Told::Refused(text) })
    }

    /// Sends the longest call that any script may make. Returns how many arguments arrived, and how many
    /// were sent.
    pub async fn longest_call(&self) -> Result<(usize, usize), StoreError> {
        let mut script = scripts::COUNT.call();
        script.key(self.keys.of_nobody("memory"));
        let sent = VALKEY_ARGUMENTS_MAX - script.len();
        script.arg(vec![0_u8; sent].iter().map(u8::to_string).collect::<Vec<_>>());
        Ok((script.run(&self.link, "sending the longest call").await?, sent))
    }

    /// Runs a script that no server has seen.
    pub async fn unknown_script(&self) -> Result<Unknown, StoreError> {
        let number = clock::random() >> 32;
        let text = format!("return {number}");
        let hash = redis::Script::new(&text).get_hash().to_owned();
        let call = async |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(1).arg(self.keys.of_nobody("memory"));
            self.link.clone().req_packed_command(&command).await
        };
        let answer = |value: Value| redis::from_redis_value::<u64>(value).ok();
        match call("EVALSHA", &hash).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {}
            Err(error) if is_refusal(&error) => return Ok(Unknown::Other(error.to_string())),
            Err(error) => return Err(failed("calling a script that is not known")(error)),
            Ok(value) => return Ok(Unknown::Other(format!("the answer {value:?}"))),
        }
        for (name, script) in [("EVAL", &text), ("EVALSHA", &hash)] {
            let value = call(name, script).await.map_err(failed("calling a new script"))?;
            if answer(value.clone()) != Some(number) {
                return Ok(Unknown::Other(format!("{name} answers {value:?}")));
            }
        }
        Ok(Unknown::Answered)
    }
}

fn is_refusal(error: &redis::RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension)
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
    fresh.ping().await?;
    let mut auth = redis::cmd("AUTH");
    auth.arg(&login.user).arg(again.password());
    let answer: RedisResult<Value> = auth.query_async(&mut fresh.link.clone()).await;
    answer.map_err(failed("logging in again on a connection"))?;
    fresh.ping().await?;
    Ok(true)
}
