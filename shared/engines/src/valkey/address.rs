//! The forms of `REDIS_URL`.
//!
//! ```text
//! redis://[user[:password]@]host[:port][/database]      one node
//! redis-cluster://[user[:password]@]host[:port][,host[:port]…]   a cluster, by any of its nodes
//! rediss://…  rediss-cluster://…                        a node or a cluster over TLS
//! rediss://user@host  rediss-cluster://user@host        login with IAM, see `iam.rs`
//! ```

use fanfold_runtime::config::ConfigError;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _};

/// The allowed forms, for an error.
const TAKES: &str = "redis:// or rediss:// with a host, or redis-cluster:// or rediss-cluster:// \
                     with one or more, each as [user:password@]host[:port]";

/// The address of Valkey. It can contain a password, so it must not be logged.
#[derive(Clone)]
pub enum Address {
    /// One server.
    Node(Box<ConnectionInfo>),
    /// Some nodes of a cluster.
    Cluster(Vec<ConnectionInfo>),
}

impl Address {
    /// Parses `REDIS_URL`. The error contains the scheme and no other part of the URL.
    pub fn parse(url: &str) -> Result<Self, ConfigError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| bad(url))?;
        let cluster = match scheme {
            "redis" | "rediss" => return Ok(Self::Node(Box::new(info(url, url)?))),
            "redis-cluster" => "redis",
            "rediss-cluster" => "rediss",
            _ => return Err(bad(url)),
        };
        let (user, hosts) = match rest.rsplit_once('@') {
            Some((user, hosts)) => (format!("{user}@"), hosts),
            None => (String::new(), rest),
        };
        let hosts = hosts.trim_end_matches('/');
        if hosts.contains('/') {
            return Err(bad(url)); // a cluster has no numbered databases
        }
        let nodes = hosts.split(',').map(|host| info(url, &format!("{cluster}://{user}{host}")));
        Ok(Self::Cluster(nodes.collect::<Result<_, _>>()?))
    }

    fn first(&self) -> Option<&ConnectionInfo> {
        match self {
            Self::Node(node) => Some(node),
            Self::Cluster(nodes) => nodes.first(),
        }
    }

    /// The address with an empty password, if it has a user without a password. Without it, the redis crate would
    /// not log in, and the connection would have the rights of the default user. A server accepts any password
    /// for a user without one.
    pub fn with_login(self) -> Self {
        let login = |node: ConnectionInfo| {
            let settings = node.redis_settings().clone();
            match (settings.username(), settings.password()) {
                (Some(_), None) => node.set_redis_settings(settings.set_password("")),
                _ => node,
            }
        };
        match self {
            Self::Node(node) => Self::Node(Box::new(login(*node))),
            Self::Cluster(nodes) => Self::Cluster(nodes.into_iter().map(login).collect()),
        }
    }

    /// Whether the connection uses TLS.
    pub fn is_tls(&self) -> bool {
        self.first().is_some_and(|node| matches!(node.addr(), ConnectionAddr::TcpTls { .. }))
    }

    /// The user in the URL.
    pub fn user(&self) -> Option<&str> {
        self.first()?.redis_settings().username()
    }

    /// Whether the URL has a password.
    pub fn has_password(&self) -> bool {
        self.first().is_some_and(|node| node.redis_settings().password().is_some())
    }
}

fn info(given: &str, url: &str) -> Result<ConnectionInfo, ConfigError> {
    url.into_connection_info().map_err(|_| bad(given))
}

fn bad(url: &str) -> ConfigError {
    refused(url, TAKES)
}

/// An error about `REDIS_URL`. It shows the scheme only, because any other part can be a misplaced password.
pub(super) fn refused(url: &str, takes: &str) -> ConfigError {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    let known = scheme.chars().all(|char| char.is_ascii_alphabetic() || char == '-');
    let value = match known && !scheme.is_empty() {
        true => format!("{scheme}://…"),
        false => "…".to_owned(),
    };
    ConfigError::Bad { name: "REDIS_URL", value, takes: takes.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(url: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let described = |info: &ConnectionInfo| {
            let login = info.redis_settings();
            let text = |text: Option<&str>| text.map(str::to_owned);
            (info.addr().to_string(), text(login.username()), text(login.password()))
        };
        match Address::parse(url).unwrap() {
            Address::Node(node) => vec![described(&node)],
            Address::Cluster(nodes) => nodes.iter().map(described).collect(),
        }
    }

    #[test]
    fn a_url_names_nodes_user_and_password() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(nodes("redis://cache"), [("cache:6379".to_owned(), None, None)]);
        let both = nodes("redis-cluster://me:p%40ss@a:1,b:2/");
        assert_eq!(both[0], ("a:1".to_owned(), some("me"), some("p@ss")));
        assert_eq!(both[1], ("b:2".to_owned(), some("me"), some("p@ss")));
        let Address::Cluster(tls) = Address::parse("rediss-cluster://a").unwrap() else { panic!() };
        assert!(matches!(tls[0].addr(), redis::ConnectionAddr::TcpTls { insecure: false, .. }));
    }

    #[test]
    fn a_bad_url_is_named_without_its_password() {
        for url in [
            "u:secret@cache:6379",
            "u:secret",
            "u:secret://cache",
            "http://u:secret@cache",
            "redis://u:secret",
            "redis://u:p@secret:port",
            "redis://u:secret@cache:port",
            "rediss://:secret@",
            "redis-cluster://u:secret@a/1",
            "rediss-cluster://u:secret@a,b:port",
            "redis://",
        ] {
            let Err(error) = Address::parse(url) else { panic!("{url} was accepted") };
            for error in [error.to_string(), format!("{error:?}")] {
                assert!(error.contains("REDIS_URL") && !error.contains("secret"), "{error}");
            }
        }
    }
}
