//! The way to Valkey: one node, a cluster, or whatever else answers commands.
//!
//! Every script may run twice, so a command whose connection is cut is sent once more. A node that
//! has become a replica is left: a new connection asks the name service again. So is one that would not
//! let us in: who may come in can change, and a new connection shows a new token.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fanfold_core::limits::{VALKEY_THROTTLED_PAUSE_MS, VALKEY_THROTTLED_TRIES_MAX};
use redis::aio::ConnectionLike;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{
    Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, TlsCertificates, Value,
};

use super::address::Address;
use super::iam::Tokens;
use super::node::Node;
use crate::clock;

pub(super) const CONNECT_WITHIN: Duration = Duration::from_millis(700);
pub(super) const ANSWER_WITHIN: Duration = Duration::from_millis(1_000);
/// For a command to a cluster with all of its redirections and retries.
const CLUSTER_ANSWER_WITHIN: Duration = Duration::from_millis(4_000);
const CLUSTER_RETRIES: u32 = 6;

/// Something that answers commands as Valkey does.
pub trait Answers: Send + Sync {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value>;
}

/// What a connection needs beside the address.
#[derive(Clone, Default)]
pub struct Access {
    /// Certificates (PEM) of whom to trust in place of the public roots.
    pub authority: Option<Vec<u8>>,
    /// In place of a password.
    pub tokens: Option<Tokens>,
}

#[derive(Clone)]
pub struct Link(Arc<Way>);

enum Way {
    Node(Box<Node>),
    Cluster(Box<ClusterClient>, Mutex<Option<ClusterConnection>>),
    Given(Arc<dyn Answers>),
}

impl Link {
    /// Connects when the first command needs it: a function starts, and reads are answered from
    /// DynamoDB, while Valkey is away.
    pub fn to(address: Address, access: Access) -> RedisResult<Self> {
        let Access { authority, tokens } = access;
        let trusted =
            authority.map(|pem| TlsCertificates { client_tls: None, root_cert: Some(pem) });
        let address = if tokens.is_some() { address } else { address.with_login() };
        Ok(Self(Arc::new(match address {
            Address::Node(node) => Way::Node(Box::new(Node::new(*node, trusted, tokens)?)),
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
                Way::Cluster(Box::new(client), Mutex::default())
            }
        })))
    }

    /// To something of the caller's own.
    pub fn given(answers: Arc<dyn Answers>) -> Self {
        Self(Arc::new(Way::Given(answers)))
    }

    /// Sends a command, and for a moment again while the server throttles it.
    async fn call(&self, command: &Cmd) -> RedisResult<Value> {
        for tried in 0.. {
            match self.send(command).await.and_then(Value::extract_error) {
                Err(error) if is_throttled(&error) && tried < VALKEY_THROTTLED_TRIES_MAX => {
                    let pause_ms = VALKEY_THROTTLED_PAUSE_MS << tried;
                    tracing::debug!(tried, %error, "Valkey throttles a command");
                    clock::sleep(pause_ms / 2 + clock::random() % pause_ms).await;
                }
                answer => return answer,
            }
        }
        Err((ErrorKind::Client, "the command was not sent").into())
    }

    async fn send(&self, command: &Cmd) -> RedisResult<Value> {
        match &*self.0 {
            Way::Given(answers) => answers.answer(command).await,
            Way::Cluster(client, kept) => {
                cluster(client, kept).await?.req_packed_command(command).await
            }
            Way::Node(node) => node.call(command).await,
        }
    }
}

/// Whether a server that grows refused a command only because of the rate. No document names the error
/// of ElastiCache Serverless, so any that speaks of throttling is taken for it.
fn is_throttled(error: &RedisError) -> bool {
    let texts = [error.code(), error.detail()];
    texts.into_iter().flatten().any(|text| text.to_ascii_lowercase().contains("throttl"))
}

/// Many may find that there is no connection yet: each makes one, and the last is kept.
async fn cluster(
    client: &ClusterClient,
    kept: &Mutex<Option<ClusterConnection>>,
) -> RedisResult<ClusterConnection> {
    let known = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(connection) = known {
        return Ok(connection);
    }
    let connection = client.get_async_connection().await?;
    *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.clone());
    Ok(connection)
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.call(command))
    }

    /// Scripts are called one by one.
    fn req_packed_commands<'a>(
        &'a mut self,
        _: &'a Pipeline,
        _: usize,
        _: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let error = (ErrorKind::Client, "pipelines are not used");
        Box::pin(std::future::ready(Err(error.into())))
    }

    fn get_db(&self) -> i64 {
        0
    }
}
