//! The connection to Valkey: one node, a cluster, or an object that answers commands.
//!
//! Every script may run twice, so a command whose connection was cut is sent once more. If a node has become a
//! replica, the connection is dropped, because a new one resolves the host name again. It is also dropped if
//! the server refused the login, because a new one logs in with a new token.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fanfold_core::limits::VALKEY_THROTTLED_TRIES_MAX;
use fanfold_core::time::millis;
use fanfold_runtime::clock;
use futures::future::{BoxFuture, FutureExt as _, Shared};
use redis::aio::ConnectionLike;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{
    Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, TlsCertificates, Value,
};

use super::address::Address;
use super::iam::Tokens;
use super::node::{ANSWER_WITHIN, CONNECT_WITHIN, Node};

/// The first pause after a throttled command, give or take a half. Each further pause is
/// twice as long.
const VALKEY_THROTTLED_PAUSE: Duration = Duration::from_millis(50);

/// The timeout of a command to a cluster, with all its redirections and retries.
const CLUSTER_ANSWER_WITHIN: Duration = Duration::from_millis(4_000);
const CLUSTER_RETRIES: u32 = 6;

/// An object that answers commands like Valkey.
pub trait Answers: Send + Sync {
    /// Answers one command.
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value>;
}

/// The certificates and the login of a connection.
#[derive(Clone, Default)]
pub struct Access {
    /// Certificates (PEM) that are trusted instead of the public roots.
    pub authority: Option<Vec<u8>>,
    /// IAM tokens that are used instead of a password.
    pub tokens: Option<Tokens>,
}

/// A connection to a cluster that is open or being opened.
type Connecting = Shared<BoxFuture<'static, RedisResult<ClusterConnection>>>;

/// A connection to Valkey. Clones share it.
#[derive(Clone)]
pub struct Link(Arc<Route>);

enum Route {
    Node(Box<Node>),
    Cluster(Box<ClusterClient>, Mutex<Option<Connecting>>),
    /// An object of the caller, and whether it is a cluster.
    Given(Arc<dyn Answers>, bool),
}

impl Link {
    /// A link to a server or cluster. It connects with the first command, so a function starts and answers reads
    /// from DynamoDB while Valkey does not answer. Fails if the address or the certificates cannot be used.
    pub fn to(address: Address, access: Access) -> RedisResult<Self> {
        let Access { authority, tokens } = access;
        let trusted =
            authority.map(|pem| TlsCertificates { client_tls: None, root_cert: Some(pem) });
        let address = if tokens.is_some() { address } else { address.with_login() };
        Ok(Self(Arc::new(match address {
            Address::Node(node) => Route::Node(Box::new(Node::new(*node, trusted, tokens)?)),
            Address::Cluster(nodes) => {
                let mut client = ClusterClient::builder(nodes);
                if let Some(trusted) = trusted {
                    client = client.certs(trusted);
                }
                if let Some(tokens) = tokens {
                    client = client.set_credentials_provider(tokens);
                }
                let client = client
                    .connection_timeout(CONNECT_WITHIN)
                    .response_timeout(ANSWER_WITHIN)
                    .overall_response_timeout(Some(CLUSTER_ANSWER_WITHIN))
                    .retries(CLUSTER_RETRIES)
                    .min_retry_wait(20)
                    .max_retry_wait(500)
                    .build()?;
                Route::Cluster(Box::new(client), Mutex::default())
            }
        })))
    }

    /// A link to an object of the caller.
    pub fn given(answers: Arc<dyn Answers>) -> Self {
        Self(Arc::new(Route::Given(answers, false)))
    }

    /// The same, to be used like a cluster.
    pub fn given_cluster(answers: Arc<dyn Answers>) -> Self {
        Self(Arc::new(Route::Given(answers, true)))
    }

    /// Sends a command. If the server throttles it, sends it again for about a second.
    async fn call(&self, command: &Cmd) -> RedisResult<Value> {
        for tried in 0.. {
            match self.send(command).await.and_then(Value::extract_error) {
                Err(error) if is_throttled(&error) && tried < VALKEY_THROTTLED_TRIES_MAX => {
                    let pause_ms = millis(VALKEY_THROTTLED_PAUSE) << tried;
                    tracing::debug!(tried, %error, "Valkey throttled a command");
                    clock::sleep(Duration::from_millis(pause_ms / 2 + clock::random() % pause_ms))
                        .await;
                }
                answer => return answer,
            }
        }
        Err((ErrorKind::Client, "the command was not sent").into())
    }

    /// Whether all commands go to the same server.
    pub fn is_one_server(&self) -> bool {
        !matches!(&*self.0, Route::Cluster(..) | Route::Given(_, true))
    }

    /// Sends commands to a single server, once only, on one connection and in their order. An answer may be an error
    /// that the server gave.
    pub async fn call_all(&self, commands: &Pipeline) -> RedisResult<Vec<Value>> {
        match &*self.0 {
            Route::Node(node) => node.call_all(commands).await,
            Route::Given(answers, _) => {
                let mut all = Vec::new();
                for command in commands.cmd_iter() {
                    all.push(answers.answer(command).await?);
                }
                Ok(all)
            }
            Route::Cluster(..) => Err((ErrorKind::Client, "a cluster is not one server").into()),
        }
    }

    async fn send(&self, command: &Cmd) -> RedisResult<Value> {
        match &*self.0 {
            Route::Given(answers, _) => answers.answer(command).await,
            Route::Cluster(client, kept) => {
                cluster(client, kept).await?.req_packed_command(command).await
            }
            Route::Node(node) => node.call(command).await,
        }
    }
}

/// Whether the server refused a command because of the rate. AWS does not document the error of ElastiCache
/// Serverless, so every error that contains "throttl" counts.
fn is_throttled(error: &RedisError) -> bool {
    let texts = [error.code(), error.detail()];
    texts.into_iter().flatten().any(|text| text.to_ascii_lowercase().contains("throttl"))
}

/// The connection to the cluster. The first caller opens it for all. It is opened in a task of its own, so it
/// becomes ready for the next caller even if all callers give up.
async fn cluster(
    client: &ClusterClient,
    kept: &Mutex<Option<Connecting>>,
) -> RedisResult<ClusterConnection> {
    let connecting = {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert_with(|| connect(client.clone())).clone()
    };
    let connected = connecting.clone().await;
    if connected.is_err() {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|kept| kept.ptr_eq(&connecting)) {
            *kept = None;
        }
    }
    connected
}

fn connect(client: ClusterClient) -> Connecting {
    let task = tokio::spawn(async move { client.get_async_connection().await });
    let connected = async move {
        let ended = |_| Err((ErrorKind::Io, "the task that opens the connection ended").into());
        task.await.unwrap_or_else(ended)
    };
    connected.boxed().shared()
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.call(command))
    }

    /// Always an error: scripts and single commands only. See [`Link::call_all`].
    fn req_packed_commands<'a>(
        &'a mut self,
        _: &'a Pipeline,
        _: usize,
        _: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let error = (ErrorKind::Client, "pipelines are not supported");
        Box::pin(std::future::ready(Err(error.into())))
    }

    fn get_db(&self) -> i64 {
        0
    }
}
