//! What operators may order, and what is wrong with an order.

use fanfold_store::StoreError;
use fanfold_store::http::UserRef;
use fanfold_store::log::Chain;
use fanfold_store::sqs::Source;
use serde::Deserialize;
use serde_json::Value;

/// An order, as JSON: `{"do":"rebuild-feed","user":"@ash"}`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// Gives a user's feeds up and rebuilds them.
    RebuildFeed { user: String },
    /// Removes all that is stored of a user. To be given again while it answers that it is not done.
    DropUser { user: String },
    /// Brings the dead letters of a queue back to it.
    Redrive { queue: String },
    /// Begins a new memory of every bucket: all feeds are rebuilt as their readers come.
    BeginMemory,
    /// Checks what the code assumes about the services that it runs on.
    Doctor,
}

/// Why an order was not obeyed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the order: {0}")]
    Order(serde_json::Error),
    #[error("user: {0:?} is no id of 16 hexadecimal digits, and no @ with a handle")]
    User(String),
    #[error("user: {0} has no profile here")]
    NoSuchUser(UserRef),
    #[error("queue: {0:?} is none of {names}", names = QUEUES.map(|(name, _)| name).join(", "))]
    Queue(String),
    #[error("user: somebody else has been rebuilding the feed all the time, try again")]
    Busy,
    #[error("{}", Chain(.0))]
    Store(#[from] StoreError),
}

/// The queues by name, and the settings that hold their URLs.
pub const QUEUES: [(&str, Source); 6] = [
    ("post-events", source("POST_EVENTS_QUEUE_URL", "POST_EVENTS_DEAD_QUEUE_URL")),
    ("bulk-events", source("BULK_EVENTS_QUEUE_URL", "BULK_EVENTS_DEAD_QUEUE_URL")),
    ("chunks", source("CHUNKS_QUEUE_URL", "CHUNKS_DEAD_QUEUE_URL")),
    ("bulk-chunks", source("BULK_CHUNKS_QUEUE_URL", "BULK_CHUNKS_DEAD_QUEUE_URL")),
    ("graph-events", source("GRAPH_EVENTS_QUEUE_URL", "GRAPH_EVENTS_DEAD_QUEUE_URL")),
    ("rebuilds", source("REBUILDS_QUEUE_URL", "REBUILDS_DEAD_QUEUE_URL")),
];

const fn source(queue: &'static str, dead: &'static str) -> Source {
    Source { queue, dead }
}

pub fn read(order: Value) -> Result<Order, Refusal> {
    serde_json::from_value(order).map_err(Refusal::Order)
}

pub fn user(text: &str) -> Result<UserRef, Refusal> {
    UserRef::parse(text).map_err(|_| Refusal::User(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_with_an_order_is_said_by_name() {
        for (order, named) in [
            (json!({"user": "@ash"}), "`do`"),
            (json!({"do": "dance"}), "`dance`, expected one of `rebuild-feed`, `drop-user`"),
            (json!({"do": "drop-user"}), "`user`"),
            (json!({"do": "drop-user", "user": 5}), "expected a string"),
            (json!({"do": "drop-user", "user": "@ash", "now": true}), "`now`"),
            (json!({"do": "redrive", "user": "@ash"}), "`user`, expected `queue`"),
            (json!("drop-user"), "order"),
        ] {
            let said = read(order.clone()).expect_err("refused").to_string();
            assert!(said.contains(named), "{order}: {said}");
        }
        let said = user("ash").expect_err("refused").to_string();
        assert!(said.starts_with("user: \"ash\" is no id"), "{said}");
        let said = Refusal::Queue("post".to_owned()).to_string();
        assert!(said.starts_with("queue: \"post\" is none of post-events, "), "{said}");
    }

    #[test]
    fn orders_are_read() {
        let order = read(json!({"do": "redrive", "queue": "chunks"})).expect("an order");
        assert_eq!(order, Order::Redrive { queue: "chunks".to_owned() });
    }
}
