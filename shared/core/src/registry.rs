//! The queues, functions and settings of a deployment. Functions, the local tool, tests and benches use these
//! tables. A test compares them with `infra/template.yaml`.

/// A queue with its dead-letter queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSpec {
    /// The name in operators' commands and messages.
    pub name: &'static str,
    /// The setting with the URL of the queue.
    pub url: &'static str,
    /// The setting with the URL of the dead-letter queue.
    pub dead_url: &'static str,
    /// The logical id of the queue in the template. The logical id of the dead-letter queue is the same with
    /// the suffix `Dead`.
    pub resource: &'static str,
    /// The `type`s of the messages on the queue.
    pub messages: &'static [&'static str],
}

macro_rules! queues {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $resource:literal, [$($kind:literal),+];)*) => {
        $(
            $(#[$doc])*
            pub const $id: &QueueSpec = &QueueSpec {
                name: $name,
                url: concat!(stringify!($id), "_QUEUE_URL"),
                dead_url: concat!(stringify!($id), "_DEAD_URL"),
                resource: $resource,
                messages: &[$($kind),+],
            };
        )*

        /// Every queue.
        pub const QUEUES: &[&QueueSpec] = &[$($id),*];
    };
}

queues! {
    /// Published and deleted posts, for `dispatch`.
    POST_EVENTS = "post-events", "PostEvents", ["PostPublished", "PostDeleted"];
    /// Parts of large fan-outs, for `dispatch`.
    BULK_EVENTS = "bulk-events", "BulkEvents", ["PostPublished"];
    /// Chunks of followers, and posts whose tags may have changed, for `deliver`.
    CHUNKS = "chunks", "Chunks", ["DeliverChunk", "UpdateTagFeeds"];
    /// Chunks of large fan-outs, for `deliver`.
    BULK_CHUNKS = "bulk-chunks", "BulkChunks", ["DeliverChunk"];
    /// Edited posts, changed relations, profiles, marks, boards and scores, counts of followers, likes and replies, and posts that are gone,
    /// for `changes`.
    CHANGE_EVENTS = "change-events", "ChangeEvents", ["RelationChanged", "ProfileChanged", "CountFollowers", "MarkChanged",
        "CountLikes", "CountReplies", "PostEdited", "PostDeleted", "ScoresChanged", "BoardChanged"];
    /// Rebuilds of home feeds of many authors, of large boards, and of rankings of very many likes, for `rebuild`.
    REBUILDS = "rebuilds", "Rebuilds", ["RebuildFeed", "RebuildBoard", "RebuildRanking"];
    /// Items that are due, for `due`.
    DUE_ITEMS = "due-items", "DueItems", ["ItemDue"];
    /// Timers that were due, for `webhook`.
    WEBHOOKS = "webhooks", "Webhooks", ["TimerFired"];
}

/// Timers that were due, for the operator's own consumers. No function of the deployment receives from this queue, and it
/// has no dead-letter queue.
pub const TIMER_EVENTS: &QueueSpec = &QueueSpec {
    name: "timer-events",
    url: "TIMER_EVENTS_QUEUE_URL",
    dead_url: "",
    resource: "TimerEvents",
    messages: &["TimerFired"],
};

/// The queue with this name. `None` if there is none.
pub fn queue(name: &str) -> Option<&'static QueueSpec> {
    QUEUES.iter().find(|queue| queue.name == name).copied()
}

/// The kind of caller that invokes a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// API Gateway.
    Http,
    /// The messages of these queues.
    Queues(&'static [&'static QueueSpec]),
    /// A schedule.
    Schedule,
    /// Operators, authorized by IAM.
    Operator,
}

/// A Lambda function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionSpec {
    /// The name. It is the value of `Handler`, and names the thin binary, the folder and the test event.
    pub name: &'static str,
    /// The logical id in the template.
    pub resource: &'static str,
    /// The kind of caller that invokes the function.
    pub trigger: Trigger,
    /// The settings of this function, without [`SHARED`] and the URLs of the queues that it consumes.
    pub settings: &'static [&'static str],
}

/// The names of the settings that every function has.
pub const SHARED: &[&str] = &[
    "SETTINGS_VERSION",
    "LOG_LEVEL",
    "REDIS_URL",
    "REDIS_IAM_CACHE",
    "REDIS_IAM_KIND",
    "BUCKETS",
    "FEED_CAP",
    "INACTIVE_AFTER",
    "FEEDS_KEPT_DAYS",
    "PUBLIC_DAYS",
    "CARD_MEMORY",
    "AWS_ENDPOINT_URL",
];

/// The settings that functions read and the template does not set. They are for a Valkey of your own.
pub const UNSET: &[&str] = &["REDIS_CA_FILE"];

/// The variables that Lambda sets for a function, as far as the code reads them or names them in errors.
pub const FROM_LAMBDA: &[&str] =
    &["_HANDLER", "AWS_LAMBDA_FUNCTION_NAME", "AWS_REGION", "AWS_ACCESS_KEY_ID"];

/// The setting of functions that consume queues: the tries of a message.
pub const QUEUE_TRIES: &str = "QUEUE_TRIES";

/// Every function of a deployment.
pub const FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec {
        name: "posts",
        resource: "Posts",
        trigger: Trigger::Http,
        settings: &[
            "USERS_TABLE",
            "POSTS_TABLE",
            "GRAPH_TABLE",
            "DUE_TABLE",
            "MARKS_TABLE",
            POST_EVENTS.url,
            DUE_ITEMS.url,
            CHANGE_EVENTS.url,
            "POSTS_PER_MINUTE",
            "MARK_CHANGES_PER_MINUTE",
        ],
    },
    FunctionSpec {
        name: "timers",
        resource: "Timers",
        trigger: Trigger::Http,
        settings: &[
            "USERS_TABLE",
            "DUE_TABLE",
            DUE_ITEMS.url,
            "TIMER_CHANGES_PER_MINUTE",
            "TIMERS_MAX",
            "TIMER_EVERY_MIN",
        ],
    },
    FunctionSpec {
        name: "boards",
        resource: "Boards",
        trigger: Trigger::Http,
        settings: &[
            "USERS_TABLE",
            "BOARDS_TABLE",
            CHANGE_EVENTS.url,
            REBUILDS.url,
            "BOARD_CHANGES_PER_MINUTE",
        ],
    },
    FunctionSpec {
        name: "users",
        resource: "Users",
        trigger: Trigger::Http,
        settings: &[
            "USERS_TABLE",
            "GRAPH_TABLE",
            CHANGE_EVENTS.url,
            "FOLLOWER_PARTITIONS",
            "RELATION_CHANGES_PER_MINUTE",
            "PROFILE_CHANGES_PER_MINUTE",
            "PAGE",
        ],
    },
    FunctionSpec {
        name: "timeline",
        resource: "Timeline",
        trigger: Trigger::Http,
        settings: &[
            "USERS_TABLE",
            "POSTS_TABLE",
            "GRAPH_TABLE",
            "MARKS_TABLE",
            "BOARDS_TABLE",
            "DUE_TABLE",
            REBUILDS.url,
            "RANKING_SECONDS",
            "PULL_QUERIES_PER_MINUTE",
        ],
    },
    FunctionSpec {
        name: "dispatch",
        resource: "Dispatch",
        trigger: Trigger::Queues(&[POST_EVENTS, BULK_EVENTS]),
        settings: &[
            "USERS_TABLE",
            "POSTS_TABLE",
            "GRAPH_TABLE",
            CHUNKS.url,
            BULK_CHUNKS.url,
            CHANGE_EVENTS.url,
            "SMALL_FOLLOWERS",
            "CHUNK_FOLLOWERS",
            "BULK_FOLLOWERS",
            "PULL_FOLLOWERS",
        ],
    },
    FunctionSpec {
        name: "deliver",
        resource: "Deliver",
        trigger: Trigger::Queues(&[CHUNKS, BULK_CHUNKS]),
        settings: &["USERS_TABLE", "POSTS_TABLE", "GRAPH_TABLE", "MARKS_TABLE"],
    },
    FunctionSpec {
        name: "changes",
        resource: "Changes",
        trigger: Trigger::Queues(&[CHANGE_EVENTS]),
        settings: &[
            "USERS_TABLE",
            "POSTS_TABLE",
            "GRAPH_TABLE",
            "MARKS_TABLE",
            "BOARDS_TABLE",
            CHUNKS.url,
            "FOLLOWERS_PER_PARTITION",
        ],
    },
    FunctionSpec {
        name: "rebuild",
        resource: "Rebuild",
        trigger: Trigger::Queues(&[REBUILDS]),
        settings: &["USERS_TABLE", "POSTS_TABLE", "GRAPH_TABLE", "MARKS_TABLE", "BOARDS_TABLE"],
    },
    FunctionSpec {
        name: "lookahead",
        resource: "LookAhead",
        trigger: Trigger::Schedule,
        settings: &["DUE_TABLE", DUE_ITEMS.url],
    },
    FunctionSpec {
        name: "due",
        resource: "Due",
        trigger: Trigger::Queues(&[DUE_ITEMS]),
        settings: &[
            "USERS_TABLE",
            "POSTS_TABLE",
            "DUE_TABLE",
            "MARKS_TABLE",
            POST_EVENTS.url,
            TIMER_EVENTS.url,
            WEBHOOKS.url,
            "WEBHOOKS_ON",
        ],
    },
    FunctionSpec {
        name: "webhook",
        resource: "Webhook",
        trigger: Trigger::Queues(&[WEBHOOKS]),
        settings: &["WEBHOOK_URL", "WEBHOOK_SECRET"],
    },
    FunctionSpec {
        name: "audit",
        resource: "Audit",
        trigger: Trigger::Schedule,
        settings: &[
            "USERS_TABLE",
            "POSTS_TABLE",
            "GRAPH_TABLE",
            "MARKS_TABLE",
            "BOARDS_TABLE",
            "AUDIT_FEEDS",
            "FOLLOWERS_PER_PARTITION",
        ],
    },
    FunctionSpec {
        name: "sweep",
        resource: "Sweep",
        trigger: Trigger::Schedule,
        settings: &["GRAPH_TABLE"],
    },
    FunctionSpec {
        name: "admin",
        resource: "Admin",
        trigger: Trigger::Operator,
        settings: &[
            "USERS_TABLE",
            "POSTS_TABLE",
            "GRAPH_TABLE",
            "DUE_TABLE",
            "MARKS_TABLE",
            "BOARDS_TABLE",
            "DOCTOR_QUEUE_URL",
        ],
    },
];

/// The function with this name. `None` if there is none.
pub fn function(name: &str) -> Option<&'static FunctionSpec> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

impl FunctionSpec {
    /// The names of all settings that the template gives to this function, without [`SHARED`].
    pub fn own_settings(&self) -> Vec<&'static str> {
        let mut names = self.settings.to_vec();
        let queues = match self.trigger {
            Trigger::Queues(queues) => {
                names.push(QUEUE_TRIES);
                queues
            }
            Trigger::Operator => QUEUES,
            Trigger::Http | Trigger::Schedule => &[],
        };
        names.extend(queues.iter().flat_map(|queue| [queue.url, queue.dead_url]));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_a_function() {
        for queue in QUEUES {
            let consumers = FUNCTIONS.iter().filter(|function| match function.trigger {
                Trigger::Queues(queues) => queues.contains(queue),
                _ => false,
            });
            assert_eq!(consumers.count(), 1, "{}", queue.name);
        }
    }

    #[test]
    fn names_differ() {
        let mut names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
        names.extend(QUEUES.iter().flat_map(|queue| [queue.name, queue.url, queue.dead_url]));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
