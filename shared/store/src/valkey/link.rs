//! The way to Valkey: one node, a cluster, or whatever else answers commands.
//!
//! Every script may run twice, so a command whose connection is cut is sent once more. A node that
//! has become a replica is left: a new connection asks the name service again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, ErrorKind, Pipeline, RedisFuture, RedisResult, ServerErrorKind, Value};

use super::address::Address;

const CONNECT_WITHIN: Duration = Duration::from_millis(700);
const ANSWER_WITHIN: Duration = Duration::from_millis(1_000);
/// For a command to a cluster with all of its redirections and retries.
const CLUSTER_ANSWER_WITHIN: Duration = Duration::from_millis(4_000);
const CLUSTER_RETRIES: u32 = 6;

/// Something that answers commands as Valkey does.
pub trait Answers: Send + Sync {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value>;
}

#[derive(Clone)]
pub struct Link(Arc<Way>);

enum Way {
    Node(Box<Client>, Mutex<Option<ConnectionManager>>),
    Cluster(Box<ClusterClient>, Mutex<Option<ClusterConnection>>),
    Given(Arc<dyn Answers>),
}

impl Link {
    /// Connects when the first command needs it: a function starts, and reads are answered from
    /// DynamoDB, while Valkey is away.
    pub fn to(address: Address) -> RedisResult<Self> {
        Ok(Self(Arc::new(match address {
            Address::Node(node) => Way::Node(Box::new(Client::open(*node)?), Mutex::default()),
            Address::Cluster(nodes) => {
                let client = ClusterClient::builder(nodes)
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
            Way::Node(client, kept) => {
                let answer = node(client, kept)?.req_packed_command(command).await;
                let Err(error) = &answer else { return answer };
                let replica = error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly);
                if replica {
                    take(kept);
                }
                if replica || error.is_connection_dropped() {
                    return node(client, kept)?.req_packed_command(command).await;
                }
                answer
            }
        }
    }
}

fn node(
    client: &Client,
    kept: &Mutex<Option<ConnectionManager>>,
) -> RedisResult<ConnectionManager> {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(connection) = &*kept {
        return Ok(connection.clone());
    }
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(1)
        .set_min_delay(Duration::from_millis(20))
        .set_max_delay(Duration::from_millis(100))
        .set_connection_timeout(Some(CONNECT_WITHIN))
        .set_response_timeout(Some(ANSWER_WITHIN));
    let connection = ConnectionManager::new_lazy_with_config(client.clone(), config)?;
    Ok(kept.insert(connection).clone())
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

fn take<T>(kept: &Mutex<Option<T>>) {
    kept.lock().unwrap_or_else(PoisonError::into_inner).take();
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
