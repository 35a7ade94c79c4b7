//! The scripts, each with its own file and header in `lua/`, and the one way to call them.
//!
//! A call names the script by its hash. A server that does not know the hash (it has restarted, or
//! another node has taken over) gets the same call with the text.

use fanfold_core::limits::VALKEY_ARGUMENTS_MAX;
use redis::aio::ConnectionLike as _;
use redis::{
    Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind, ToRedisArgs,
};

use super::{Link, failed};
use crate::error::StoreError;

/// The text of a script, and the hash that names it.
pub struct Script {
    name: &'static str,
    text: &'static str,
    hash: std::sync::LazyLock<String>,
}

macro_rules! script {
    (@of $name:ident, $text:expr) => {
        pub static $name: Script = Script {
            name: stringify!($name),
            text: $text,
            hash: std::sync::LazyLock::new(|| redis::Script::new($text).get_hash().to_owned()),
        };
    };
    ($name:ident, $file:literal) => {
        script!(@of $name, concat!(
            include_str!("lua/_feed.lua"),
            "\n",
            include_str!(concat!("lua/", $file))
        ));
    };
    (plain $name:ident, $file:literal) => {
        script!(@of $name, include_str!(concat!("lua/", $file)));
    };
}

script!(PUSH, "push.lua");
script!(BEGIN, "begin.lua");
script!(COMMIT, "commit.lua");
script!(RELATE, "relate.lua");
script!(READ, "read.lua");
script!(RENEW, "renew.lua");
script!(plain DROP, "drop.lua");
script!(plain EXPIRE, "expire.lua");
script!(plain TRY, "try.lua");
script!(plain INFO, "info.lua");
script!(plain COUNT, "count.lua");
script!(plain WRITE, "write.lua");

/// `EVALSHA`, the hash and the number of keys come before the keys and arguments.
const BEFORE_KEYS: usize = 3;

impl Script {
    pub fn call(&'static self) -> Call {
        Call { script: self, keys: Vec::new(), arguments: Vec::new() }
    }
}

/// A call of a script. It is never longer than [`VALKEY_ARGUMENTS_MAX`].
pub struct Call {
    script: &'static Script,
    keys: Vec<Vec<u8>>,
    arguments: Vec<Vec<u8>>,
}

impl Call {
    /// Adds a key, or several.
    pub fn key(&mut self, key: impl ToRedisArgs) -> &mut Self {
        self.keys.extend(key.to_redis_args());
        self
    }

    /// Adds an argument, or several.
    pub fn arg(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        self.arguments.extend(argument.to_redis_args());
        self
    }

    /// The number of arguments that a server counts.
    pub fn len(&self) -> usize {
        BEFORE_KEYS + self.keys.len() + self.arguments.len()
    }

    /// Runs the script; `doing` says in an error what it was for.
    pub async fn run<T: FromRedisValue>(
        &self,
        link: &Link,
        doing: &'static str,
    ) -> Result<T, StoreError> {
        self.ask(link).await.map_err(failed(doing))
    }

    /// Runs the script.
    pub async fn ask<T: FromRedisValue>(&self, link: &Link) -> RedisResult<T> {
        if self.len() > VALKEY_ARGUMENTS_MAX {
            let text =
                format!("{} arguments, and the server takes {VALKEY_ARGUMENTS_MAX}", self.len());
            return Err(RedisError::from((
                ErrorKind::InvalidClientConfig,
                "the call is too long",
                text,
            )));
        }
        tracing::debug!(script = self.script.name, arguments = self.len(), "calls a script");
        let mut link = link.clone();
        let by_hash = self.command("EVALSHA", &self.script.hash);
        let answer = match link.req_packed_command(&by_hash).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                link.req_packed_command(&self.command("EVAL", self.script.text)).await
            }
            answer => answer,
        };
        Ok(T::from_redis_value(answer?)?)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        for word in self.keys.iter().chain(&self.arguments) {
            command.arg(word.as_slice());
        }
        command
    }
}
