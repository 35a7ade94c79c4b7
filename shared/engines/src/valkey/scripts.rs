//! The scripts, and how they are called. Each script is a file in `lua/` with a header.
//!
//! A call names the script by its hash. If the server does not know the hash (it has restarted, or another node
//! has taken over), the call is repeated with the text.

use fanfold_core::limits::VALKEY_ARGUMENTS_MAX;
use fanfold_runtime::error::StoreError;
use redis::aio::ConnectionLike as _;
use redis::{
    Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind, ToRedisArgs,
};

use super::{Key, Link, failed};

/// Characters of an unknown script answer that are logged.
const UNKNOWN_ANSWER_CHARS_MAX: usize = 100;

/// A script: its name for the log, its text, and the hash of the text.
pub struct Script {
    name: &'static str,
    text: &'static str,
    hash: std::sync::LazyLock<String>,
}

macro_rules! script {
    (@of $name:ident, $text:expr) => {
        #[doc = concat!("The script `", stringify!($name), "`. Its file in `lua/` describes it.")]
        pub static $name: Script = Script {
            name: stringify!($name),
            text: $text,
            hash: std::sync::LazyLock::new(|| redis::Script::new($text).get_hash().to_owned()),
        };
    };
    (cards $name:ident, $file:literal) => {
        script!(@of $name, concat!(
            include_str!("lua/_memory.lua"),
            "\n",
            include_str!("lua/_cards.lua"),
            "\n",
            include_str!(concat!("lua/", $file))
        ));
    };
    (due $name:ident, $file:literal) => {
        script!(@of $name, concat!(
            include_str!("lua/_memory.lua"),
            "\n",
            include_str!("lua/_due.lua"),
            "\n",
            include_str!(concat!("lua/", $file))
        ));
    };
    (board $name:ident, $file:literal $(, $functions:literal)*) => {
        script!(@of $name, concat!(
            include_str!("lua/_memory.lua"),
            "\n",
            include_str!("lua/_board.lua"),
            "\n",
            $(include_str!(concat!("lua/", $functions)), "\n",)*
            include_str!(concat!("lua/", $file))
        ));
    };
    ($name:ident, $file:literal) => {
        script!(@of $name, concat!(
            include_str!("lua/_memory.lua"),
            "\n",
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
script!(ASK, "ask.lua");
script!(cards CARDS, "cards.lua");
script!(cards FILL, "fill.lua");
script!(cards STALE, "stale.lua");
script!(due DUE_ADD, "due_add.lua");
script!(due DUE_BEGIN, "due_begin.lua");
script!(due DUE_LOAD, "due_load.lua");
script!(due DUE_TAKE, "due_take.lua");
script!(board BOARD_BEGIN, "board_begin.lua", "_board_keep.lua");
script!(board BOARD_COMMIT, "board_commit.lua", "_board_change.lua");
script!(board BOARD_LOAD, "board_load.lua", "_board_change.lua", "_board_keep.lua");
script!(board BOARD_PAGE, "board_page.lua", "_board_rank.lua");
script!(board BOARD_PUT, "board_put.lua", "_board_change.lua", "_board_rank.lua");
script!(board BOARD_RANKS, "board_ranks.lua", "_board_rank.lua");
script!(plain BOARD_KEEP, "board_keep.lua");
script!(plain DUE_HANDED_ON, "due_handed_on.lua");
script!(plain DUE_OVERDUE, "due_overdue.lua");
script!(plain LIMIT, "limit.lua");
script!(plain DROP, "drop.lua");
script!(plain REMOVE, "remove.lua");
script!(plain EXPIRE, "expire.lua");
script!(plain TRY, "try.lua");
script!(plain INFO, "info.lua");
script!(plain COUNT, "count.lua");
script!(plain WRITE, "write.lua");

/// All scripts.
static ALL: [&Script; 31] = [
    &PUSH,
    &BEGIN,
    &COMMIT,
    &RELATE,
    &READ,
    &RENEW,
    &ASK,
    &CARDS,
    &FILL,
    &STALE,
    &DUE_ADD,
    &DUE_BEGIN,
    &DUE_LOAD,
    &DUE_TAKE,
    &BOARD_BEGIN,
    &BOARD_COMMIT,
    &BOARD_LOAD,
    &BOARD_PAGE,
    &BOARD_PUT,
    &BOARD_RANKS,
    &BOARD_KEEP,
    &DUE_HANDED_ON,
    &DUE_OVERDUE,
    &LIMIT,
    &DROP,
    &REMOVE,
    &EXPIRE,
    &TRY,
    &INFO,
    &COUNT,
    &WRITE,
];

/// The name and the text of each script.
pub fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter().map(|script| (script.name, script.text))
}

/// The answers of a script that answers with one word.
pub trait Word: Sized {
    /// The answer for this word. `None` if the script is not known to give it.
    fn of(word: &str) -> Option<Self>;
}

/// An error for an answer that the script is not known to give. Logs it too.
pub fn unknown(answer: &str) -> RedisError {
    let text: String = answer.chars().take(UNKNOWN_ANSWER_CHARS_MAX).collect();
    // reads continue without Valkey, so the error itself may never be logged
    tracing::error!(answer = text, "a script gave an unknown answer");
    (ErrorKind::UnexpectedReturnType, "the script gave an unknown answer", text).into()
}

/// The arguments before the keys: `EVALSHA`, the hash and the number of keys.
const BEFORE_KEYS: usize = 3;

impl Script {
    /// Begins a call without keys and arguments.
    pub fn call(&'static self) -> Call {
        Call { script: self, keys: Vec::new(), arguments: Vec::new() }
    }
}

/// A call of a script. A call with more than [`VALKEY_ARGUMENTS_MAX`] arguments fails without being sent.
pub struct Call {
    script: &'static Script,
    keys: Vec<Key>,
    arguments: Vec<Vec<u8>>,
}

impl Call {
    /// Adds a key.
    pub fn key(&mut self, key: Key) -> &mut Self {
        self.keys.push(key);
        self
    }

    /// Adds one or more arguments.
    pub fn arg(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        self.arguments.extend(argument.to_redis_args());
        self
    }

    /// The number of arguments of the command, as the server counts them.
    pub fn len(&self) -> usize {
        BEFORE_KEYS + self.keys.len() + self.arguments.len()
    }

    /// Runs the script. `doing` names the operation in an error.
    pub async fn run<T: FromRedisValue>(
        &self,
        link: &Link,
        doing: &'static str,
    ) -> Result<T, StoreError> {
        self.ask(link).await.map_err(failed(doing))
    }

    /// Runs the script, and returns an error of the redis crate.
    pub async fn ask<T: FromRedisValue>(&self, link: &Link) -> RedisResult<T> {
        if self.len() > VALKEY_ARGUMENTS_MAX {
            let text =
                format!("{} arguments; the server accepts {VALKEY_ARGUMENTS_MAX}", self.len());
            return Err(RedisError::from((
                ErrorKind::InvalidClientConfig,
                "the call is too long",
                text,
            )));
        }
        tracing::debug!(script = self.script.name, arguments = self.len(), "calling a script");
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

    /// Runs a script that answers with one word. An unknown word is an error.
    pub async fn run_for_word<T: Word>(
        &self,
        link: &Link,
        doing: &'static str,
    ) -> Result<T, StoreError> {
        let word: String = self.run(link, doing).await?;
        T::of(&word).ok_or_else(|| failed(doing)(unknown(&word)))
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        for key in &self.keys {
            command.arg(key);
        }
        for argument in &self.arguments {
            command.arg(argument.as_slice());
        }
        command
    }
}
