//! A single server, and the connection to it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionLike as _, ConnectionManager, ConnectionManagerConfig};
use redis::{
    Client, Cmd, ConnectionInfo, ErrorKind, Pipeline, RedisResult, ServerErrorKind,
    TlsCertificates, Value,
};

use super::iam::Tokens;

/// The timeout of opening a connection.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_millis(700);
/// The timeout of a command.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_millis(1_000);

/// A single server. Its connection is opened with the first command and then kept.
pub struct Node {
    client: Client,
    tokens: Option<Tokens>,
    kept: Mutex<Option<Arc<ConnectionManager>>>,
}

impl Node {
    /// Fails if the address or the certificates cannot be used.
    pub fn new(
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

    /// Sends a command. If the connection was cut, or the server has become a replica, sends it once more on a new
    /// connection.
    pub async fn call(&self, command: &Cmd) -> RedisResult<Value> {
        let connection = self.connection()?;
        let answer = (*connection).clone().req_packed_command(command).await;
        let Err(error) = &answer else { return answer };
        let replica = error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly);
        if replica || error.kind() == ErrorKind::AuthenticationFailed {
            self.discard(&connection);
        }
        if replica || error.is_connection_dropped() {
            return (*self.connection()?).clone().req_packed_command(command).await;
        }
        answer
    }

    /// Sends commands on one connection, in their order, once only.
    pub async fn call_all(&self, commands: &Pipeline) -> RedisResult<Vec<Value>> {
        let connection = self.connection()?;
        (*connection).clone().req_packed_commands(commands, 0, commands.len()).await
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

    /// Drops this connection, unless another caller has already replaced it.
    fn discard(&self, connection: &Arc<ConnectionManager>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take_if(|kept| Arc::ptr_eq(kept, connection));
    }
}
