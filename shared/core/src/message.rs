//! Messages on queues, as JSON: an object with the type and the version of the message, and its fields. Types of facts are
//! in the past tense, types of orders imperative. Each kind of data has its messages; see `messages.rs` in its folder.
//!
//! **Every change of form is a new version**, also an added field: a function that ignores a field could
//! misread the message. (Without `part`, a part of a fan-out would look like the whole.) A body with an
//! unknown field is therefore poison. A body of a newer version waits in its queue until a newer function
//! takes it, so a deployment that is under way or rolled back loses nothing. A new version takes two
//! releases: the first reads it and still writes the old version; the second writes it. With two releases,
//! no message has to wait.
//!
//! Functions must read an old version for as long as such messages exist. SQS keeps a message for 4 days on
//! a queue and 14 days as a dead letter. A message that is requeued during an outage, or returned from the
//! dead letters, begins again, so it can live for weeks.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Error, Map, Value};

use crate::registry::QueueSpec;

/// A message: a struct with the fields of its body. [`message!`](crate::message!) makes one.
pub trait Message: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The `type` in the body.
    const TYPE: &'static str;
    /// The version that is written.
    const V: u32;
    /// The queues on which it is sent. Some messages can be sent on another one, too.
    const QUEUES: &'static [&'static QueueSpec];
    /// The message group. While the messages of one group hold up the others, SQS delivers the others first. `None`: it has
    /// none.
    fn group(&self) -> Option<String> {
        None
    }
}

/// What a function receives from its queues: a message, or one of several.
pub trait Received: Sized {
    /// The types of its messages, with the newest known version of each.
    const TYPES: &'static [(&'static str, u32)];
    /// Decodes a body. The error describes the message that the body's type names.
    fn decode(body: &str) -> Result<Self, Error>;
    /// Encodes the message as a body.
    fn encode(&self) -> Result<String, Error>;
}

/// A body: the type, the version, and the fields of the message.
#[derive(Serialize)]
struct Body<'a, M> {
    #[serde(rename = "type")]
    kind: &'static str,
    v: u32,
    #[serde(flatten)]
    message: &'a M,
}

/// The type of a body, and its other fields.
#[derive(Deserialize)]
struct Head {
    #[serde(default, rename = "type")]
    kind: Value,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The type that a body names. Empty: it names none.
pub fn type_of(body: &str) -> String {
    let head = serde_json::from_str::<Head>(body).ok();
    head.and_then(|head| Some(head.kind.as_str()?.to_owned())).unwrap_or_default()
}

impl<M: Message> Received for M {
    const TYPES: &'static [(&'static str, u32)] = &[(M::TYPE, M::V)];

    fn decode(body: &str) -> Result<Self, Error> {
        let is_wrong = |error: Error| Error::custom(format_args!("{}: {error}", M::TYPE));
        let Head { kind, mut rest } = serde_json::from_str(body).map_err(is_wrong)?;
        if kind != M::TYPE {
            return Err(Error::custom(format_args!("the type is {kind}, not {}", M::TYPE)));
        }
        match rest.remove("v") {
            None => return Err(is_wrong(Error::missing_field("v"))),
            Some(v) if v == M::V => {}
            Some(v) => {
                let known = M::V;
                let text = format_args!("version {v} is not known, only version {known}");
                return Err(is_wrong(Error::custom(text)));
            }
        }
        serde_json::from_value(Value::Object(rest)).map_err(is_wrong)
    }

    fn encode(&self) -> Result<String, Error> {
        serde_json::to_string(&Body { kind: M::TYPE, v: M::V, message: self })
    }
}

/// Makes a struct a [`Message`] of this version on these queues: `message!(MarkChanged 1 on CHANGE_EVENTS)`.
#[macro_export]
macro_rules! message {
    ($name:ident $v:literal on $($queue:ident),+ $(; in groups by |$message:ident| $group:expr)?) => {
        impl $crate::message::Message for $name {
            const TYPE: &'static str = stringify!($name);
            const V: u32 = $v;
            const QUEUES: &'static [&'static $crate::registry::QueueSpec] = &[$($queue),+];
            $(
                fn group(&self) -> Option<String> {
                    let $message = self;
                    Some(($group).to_string())
                }
            )?
        }
    };
}

/// Makes an enum of the messages that a function receives. The first one describes a body without a known type.
#[macro_export]
macro_rules! received {
    ($(#[$doc:meta])* $name:ident: $first:ident $(, $message:ident)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $first($first),
            $($message($message),)*
        }

        impl From<$first> for $name {
            fn from(message: $first) -> Self {
                Self::$first(message)
            }
        }

        $(
            impl From<$message> for $name {
                fn from(message: $message) -> Self {
                    Self::$message(message)
                }
            }
        )*

        impl $crate::message::Received for $name {
            const TYPES: &'static [(&'static str, u32)] = &[
                (stringify!($first), <$first as $crate::message::Message>::V),
                $((stringify!($message), <$message as $crate::message::Message>::V),)*
            ];

            fn decode(body: &str) -> Result<Self, serde_json::Error> {
                match $crate::message::type_of(body).as_str() {
                    $(stringify!($message) => $message::decode(body).map(Self::$message),)*
                    _ => $first::decode(body).map(Self::$first),
                }
            }

            fn encode(&self) -> Result<String, serde_json::Error> {
                match self {
                    Self::$first(message) => message.encode(),
                    $(Self::$message(message) => message.encode(),)*
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{CHANGE_EVENTS, CHUNKS};

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Sown {
        seeds: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
    }

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Reap {
        at: u64,
    }

    message!(Sown 1 on CHANGE_EVENTS; in groups by |event| event.seeds);
    message!(Reap 3 on CHUNKS);
    received!(Work: Sown, Reap);

    #[test]
    fn a_body_begins_with_its_type_and_version() {
        let sown = Sown { seeds: 7, field: None };
        assert_eq!(sown.group().as_deref(), Some("7"));
        let body = r#"{"type":"Sown","v":1,"seeds":7}"#;
        assert_eq!(sown.encode().unwrap(), body);
        assert_eq!(Sown::decode(body).unwrap(), sown);
        assert_eq!(Work::decode(body).unwrap(), sown.clone().into());
        assert_eq!(Work::from(sown).encode().unwrap(), body);
        assert_eq!(Work::decode(r#"{"v":3,"at":5,"type":"Reap"}"#).unwrap(), Reap { at: 5 }.into());
        assert_eq!(Reap { at: 1 }.group(), None);
    }

    #[test]
    fn an_error_describes_the_message_that_the_type_names() {
        for (body, reason) in [
            (r#"{"type":"Reap","v":4,"at":1}"#, "Reap: version 4 is not known, only version 3"),
            (r#"{"type":"Reap","v":"3","at":1}"#, "Reap: version \"3\""),
            (r#"{"type":"Reap","v":3}"#, "`at`"),
            (r#"{"type":"Reap","v":3,"at":1,"to":2}"#, "`to`"),
            (r#"{"type":"Reap","at":1}"#, "`v`"),
            (r#"{"type":"Sown","v":1,"seeds":-1}"#, "Sown"),
            (r#"{"type":"Sown","v":1,"seeds":1"#, "Sown: EOF"),
            (r#"{"type":"Plough","v":1}"#, "the type is \"Plough\", not Sown"),
            (r#"{"type":5,"v":1}"#, "Sown"),
            (r#"{"v":1}"#, "the type is null"),
            ("7", "Sown"),
        ] {
            let error = Work::decode(body).unwrap_err();
            assert!(error.to_string().contains(reason), "{body}: {error}");
        }
    }
}
