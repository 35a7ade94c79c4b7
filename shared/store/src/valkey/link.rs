//! The way to Valkey: one node, a cluster, or whatever else answers commands.
//!
//! Every script may run twice, so a command whose connection is cut is sent once more. A node that
//! has become a replica is left: a new connection asks the name service again. So is one that would not
//! let us in: who may come in can change, and a new connection shows a new token.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{
    Client, Cmd, ConnectionInfo, ErrorKind, Pipeline, RedisFuture, RedisResult, ServerErrorKind,
    TlsCertificates, Value,
};

use super::address::Address;
use super::iam::Tokens;

const CONNECT_WITHIN: Duration = Duration::from_millis(700);
const ANSWER_WITHIN: Duration = Duration::from_millis(1_000);
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

    async fn call(&self, command: &Cmd) -> RedisResult<Value> {
        match &*self.0 {
            Way::Given(answers) => answers.answer(command).await,
            Way::Cluster(client, kept) => {
                cluster(client, kept).await?.req_packed_command(command).await
            }
            Way::Node(node) => node.call(command).await,
        }
    }
}

/// A single server, and the connection to it once there is one.
struct Node {
    client: Client,
    tokens: Option<Tokens>,
    kept: Mutex<Option<Arc<ConnectionManager>>>,
}

impl Node {
    fn new(
        node: ConnectionInfo,
        trusted: Option<TlsCertificates>,
        tokens: Option<Tokens>,
    ) -> RedisResult<Self> {
        let client = match trusted {
            Some(trusted) => Client::build_with_tls(node, trusted)?,
            None => Client::open(node)?,
        };
        Ok(Self { client, tokens, kept: Mutex::default() })
    }

    async fn call(&self, command: &Cmd) -> RedisResult<Value> {
        let connection = self.connection()?;
        let answer = (*connection).clone().req_packed_command(command).await;
        let Err(error) = &answer else { return answer };
        let replica = error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly);
        if replica || error.kind() == ErrorKind::AuthenticationFailed {
            self.leave(&connection);
        }
        if replica || error.is_connection_dropped() {
            return (*self.connection()?).clone().req_packed_command(command).await;
        }
        answer
    }

    fn connection(&self) -> RedisResult<Arc<ConnectionManager>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = &*kept {
            return Ok(connection.clone());
        }
        let mut config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_min_delay(Duration::from_millis(20))
            .set_max_delay(Duration::from_millis(100))
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(Some(ANSWER_WITHIN));
        if let Some(tokens) = &self.tokens {
            config = config.set_credentials_provider(tokens.clone());
        }
        let connection = ConnectionManager::new_lazy_with_config(self.client.clone(), config)?;
        Ok(kept.insert(Arc::new(connection)).clone())
    }

    /// Many may leave a connection at once, and none may take the next one with it.
    fn leave(&self, connection: &Arc<ConnectionManager>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take_if(|kept| Arc::ptr_eq(kept, connection));
    }
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
