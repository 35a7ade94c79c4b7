//! The orders of operators, and the reasons for which an order is refused.

use fanfold_core::registry::QUEUES;
use fanfold_core::tag::TagError;
use fanfold_core::{FeedId, Tag, TagHash, UserRef};
use fanfold_kinds::export::ExportPlaceError;
use fanfold_runtime::StoreError;
use fanfold_runtime::log::Chain;
use serde::Deserialize;
use serde_json::Value;

/// An order of an operator, as JSON: `{"do":"rebuild-feed","of":"@ash"}`. A user is an id or `@handle`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AdminOrder {
    /// Drops both feeds of a user, the feed of a tag (`#tag`) or the public feed (`public`), and rebuilds them.
    RebuildFeed { of: String },
    /// Erases a user. Must be given again until the answer has `"done":true`.
    DropUser { user: String },
    /// Reads a page of everything that is stored about a user. `after` is the `next` of the page before.
    Export { user: String, after: Option<String> },
    /// Returns the dead letters of a queue to the queue.
    Redrive { queue: String },
    /// Begins a new memory of every bucket, so every feed is rebuilt when it is read next.
    BeginMemory,
    /// Checks the assumptions about Valkey, DynamoDB, SQS and clocks.
    Doctor,
}

/// The reason for which an order was not executed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the order is invalid: {0}")]
    Order(serde_json::Error),
    #[error("user: {0:?} must be an id of 16 hexadecimal digits, or @ and a handle")]
    User(String),
    #[error("user: {0} has no profile in this system")]
    NoSuchUser(UserRef),
    #[error("after: {0}")]
    After(#[from] ExportPlaceError),
    #[error("queue: {0:?} is not one of {names}", names = queue_names())]
    Queue(String),
    #[error("tag: {0:?} is no tag: {1}")]
    Tag(String, TagError),
    #[error("of: other functions kept rebuilding the feed; try again")]
    Busy,
    #[error("{}", Chain(.0))]
    Store(#[from] StoreError),
}

fn queue_names() -> String {
    let names: Vec<&str> = QUEUES.iter().map(|queue| queue.name).collect();
    names.join(", ")
}

/// Reads an order from JSON. The error names the field that is wrong.
pub fn read(order: Value) -> Result<AdminOrder, Refusal> {
    serde_json::from_value(order).map_err(Refusal::Order)
}

/// Reads a user: an id of 16 hexadecimal digits, or @ and a handle.
pub fn user(text: &str) -> Result<UserRef, Refusal> {
    text.parse().map_err(|_| Refusal::User(text.to_owned()))
}

/// The feed that everybody reads with this name: `#` and a tag, or `public`. `None`: the text names a user.
pub fn shared_feed(text: &str) -> Result<Option<FeedId>, Refusal> {
    if text == "public" {
        return Ok(Some(FeedId::tag(TagHash::PUBLIC)));
    }
    if !text.starts_with('#') {
        return Ok(None);
    }
    let tag: Tag = text.parse().map_err(|error| Refusal::Tag(text.to_owned(), error))?;
    Ok(Some(FeedId::of_tag(&tag)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_names_the_wrong_field_of_an_order() {
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
        assert!(said.starts_with("user: \"ash\" must be an id"), "{said}");
        let said = shared_feed("#a b").expect_err("refused").to_string();
        assert!(said.starts_with("tag: \"#a b\" is no tag"), "{said}");
        let said = Refusal::Queue("post".to_owned()).to_string();
        assert!(said.starts_with("queue: \"post\" is not one of post-events, "), "{said}");
    }

    #[test]
    fn orders_are_read() {
        let order = read(json!({"do": "redrive", "queue": "chunks"})).expect("an order");
        assert_eq!(order, AdminOrder::Redrive { queue: "chunks".to_owned() });
    }
}
