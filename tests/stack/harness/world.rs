//! The handlers of all functions in this process, over real servers, with tables and queues of
//! their own. Messages stay on the queues until the test takes them, so it decides when, in which
//! order and how often they arrive.

use std::sync::Mutex;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use fanfold_core::id::Identity;
use fanfold_core::message::{DeliverChunk, PostPublished, RebuildFeed, RelationChanged};
use fanfold_core::{PostId, Relation, UserId};
use fanfold_store::aws::SdkConfig;
use fanfold_store::clock::Deadline;
use fanfold_store::feeds::{Page, Span};
use fanfold_store::http::{Problem, UserRef};
use fanfold_store::valkey::Feed;
use fanfold_store::{Config, StoreError};

use super::{dice, setting};

pub struct World {
    pub posts: fanfold_posts::App,
    pub users: fanfold_users::App,
    pub timeline: fanfold_timeline::App,
    pub dispatch: fanfold_dispatch::App,
    pub deliver: fanfold_deliver::App,
    pub graph: fanfold_graph::App,
    pub rebuild: fanfold_rebuild::App,
    pub sweep: fanfold_sweep::App,
    pub audit: fanfold_audit::App,
    pub admin: fanfold_admin::App,
    pub config: Config,
    pub sdk: SdkConfig,
    pairs: Vec<(String, String)>,
    sqs: aws_sdk_sqs::Client,
    queues: Vec<String>,
    /// The handlers' clock.
    now_ms: Mutex<u64>,
    /// Makes the users of this world different from those of any other.
    name: u64,
}

const QUEUES: [&str; 6] = [
    "POST_EVENTS_QUEUE_URL",
    "BULK_EVENTS_QUEUE_URL",
    "CHUNKS_QUEUE_URL",
    "BULK_CHUNKS_QUEUE_URL",
    "GRAPH_EVENTS_QUEUE_URL",
    "REBUILDS_QUEUE_URL",
];

#[derive(Debug, Clone)]
pub enum Message {
    Post(PostPublished),
    Chunk(DeliverChunk),
    Relation(RelationChanged),
    Rebuild(RebuildFeed),
}

impl World {
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// With settings of its own, such as `("FEED_CAP", "10")`.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let sdk = fanfold_store::aws::sdk_config().await;
        let name = dice::fresh();
        let dynamo = aws_sdk_dynamodb::Client::new(&sdk);
        let sqs = aws_sdk_sqs::Client::new(&sdk);
        let mut pairs = vec![("REDIS_URL".to_owned(), format!("{}/1", setting("REDIS_URL")))];
        for (table, sorted) in
            [("USERS_TABLE", false), ("POSTS_TABLE", true), ("GRAPH_TABLE", true)]
        {
            let called = format!("{table}-{name:x}");
            create_table(&dynamo, &called, sorted).await;
            pairs.push((table.to_owned(), called));
        }
        let mut queues = Vec::new();
        for queue in QUEUES {
            let made = sqs.create_queue().queue_name(format!("{queue}-{name:x}")).send().await;
            let url = made.expect("a queue").queue_url.expect("its url");
            pairs.push((queue.to_owned(), url.clone()));
            queues.push(url);
        }
        let dead = sqs.create_queue().queue_name(format!("DEAD-{name:x}")).send().await;
        let dead = dead.expect("a queue").queue_url.expect("its url");
        for queue in QUEUES {
            pairs.push((queue.replace("_QUEUE", "_DEAD_QUEUE"), dead.clone()));
        }
        let doctor = sqs.create_queue().queue_name(format!("DOCTOR-{name:x}")).send().await;
        let doctor = doctor.expect("a queue").queue_url.expect("its url");
        pairs.push(("DOCTOR_QUEUE_URL".to_owned(), doctor));
        pairs.extend(settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        let config = Config::from_pairs(pairs.clone());
        Self {
            posts: fanfold_posts::App::new(&sdk, &config).expect("posts"),
            users: fanfold_users::App::new(&sdk, &config).expect("users"),
            timeline: fanfold_timeline::App::new(&sdk, &config).expect("timeline"),
            dispatch: fanfold_dispatch::App::new(&sdk, &config).expect("dispatch"),
            deliver: fanfold_deliver::App::new(&sdk, &config).expect("deliver"),
            graph: fanfold_graph::App::new(&sdk, &config).expect("graph"),
            rebuild: fanfold_rebuild::App::new(&sdk, &config).expect("rebuild"),
            sweep: fanfold_sweep::App::new(&sdk, &config).expect("sweep"),
            audit: fanfold_audit::App::new(&sdk, &config).expect("audit"),
            admin: fanfold_admin::App::new(&sdk, &config).expect("admin"),
            config,
            sdk,
            pairs,
            sqs,
            queues,
            now_ms: Mutex::new(fanfold_store::clock::now_ms()),
            name,
        }
    }

    /// The world's settings but for one: something that is away.
    pub fn config_but(&self, name: &str, value: &str) -> Config {
        self.config_with(&[(name, value)])
    }

    /// The world's settings, some of them changed.
    pub fn config_with(&self, changes: &[(&str, &str)]) -> Config {
        let pairs = self.pairs.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        Config::from_pairs(pairs.chain(changes.iter().copied()))
    }

    pub fn now(&self) -> u64 {
        *self.now_ms.lock().expect("the clock")
    }

    pub fn advance(&self, ms: u64) {
        *self.now_ms.lock().expect("the clock") += ms;
    }

    pub fn identity(&self, name: &str) -> Identity {
        Identity::of(&format!("world {:x}", self.name), name)
    }

    pub fn id(&self, name: &str) -> UserId {
        self.identity(name).user()
    }

    /// Makes a profile for each.
    pub async fn people(&self, names: &[&str]) {
        for name in names {
            let put = fanfold_users::handler::put_profile;
            put(&self.users, &self.identity(name), name, name).await.expect("a profile");
        }
    }

    pub async fn publish(&self, author: &str, text: &str) -> PostId {
        self.try_publish(author, text).await.expect("a post")
    }

    pub async fn try_publish(&self, author: &str, text: &str) -> Result<PostId, Problem> {
        let author = self.identity(author);
        let publish = fanfold_posts::handler::publish;
        let (post, _) = publish(&self.posts, &author, text, None, self.now()).await?;
        Ok(post.id)
    }

    pub async fn delete(&self, author: &str, post: PostId) {
        let author = self.identity(author);
        let delete = fanfold_posts::handler::delete;
        delete(&self.posts, &author, post, self.now()).await.expect("deleted");
    }

    pub async fn relate(&self, follower: &str, author: &str, relation: Relation) {
        let (follower, author) = (self.identity(follower), UserRef::Id(self.id(author)));
        let relate = fanfold_users::handler::relate;
        relate(&self.users, &follower, &author, relation, self.now()).await.expect("related");
    }

    pub async fn follow(&self, follower: &str, author: &str) {
        self.relate(follower, author, Relation::Following).await;
    }

    pub async fn unfollow(&self, follower: &str, author: &str) {
        self.relate(follower, author, Relation::NotFollowing).await;
    }

    pub async fn page(&self, feed: Feed, span: Span, limit: usize) -> Page {
        self.timeline.feeds.page(feed, span, limit, self.now()).await.expect("a page")
    }

    /// The whole of a feed, page by page.
    pub async fn walk(&self, feed: Feed, limit: usize) -> Vec<PostId> {
        let (mut span, mut walked) = (Span::ALL, Vec::new());
        for _ in 0..1_000 {
            let page = self.page(feed, span, limit).await;
            let last = page.next_before.is_none();
            assert!(last || page.posts.len() == limit, "a page is full or the last");
            walked.extend(page.posts.iter().map(|post| post.id));
            match page.next_before {
                Some(before) => span.before = before,
                None => return walked,
            }
        }
        panic!("a walk without an end");
    }

    pub async fn home(&self, name: &str) -> Vec<PostId> {
        self.walk(Feed::home(self.id(name)), 7).await
    }

    /// Takes all messages that are on the queues.
    pub async fn take(&self) -> Vec<Message> {
        let mut taken = Vec::new();
        for (index, url) in self.queues.iter().enumerate() {
            loop {
                let call = self.sqs.receive_message().queue_url(url).max_number_of_messages(10);
                let messages = call.send().await.expect("messages").messages.unwrap_or_default();
                if messages.is_empty() {
                    break;
                }
                for message in messages {
                    let body = message.body.expect("a body");
                    taken.push(match index {
                        0 | 1 => Message::Post(serde_json::from_str(&body).expect("an event")),
                        2 | 3 => Message::Chunk(serde_json::from_str(&body).expect("a chunk")),
                        4 => Message::Relation(serde_json::from_str(&body).expect("an event")),
                        _ => Message::Rebuild(serde_json::from_str(&body).expect("an order")),
                    });
                    let handle = message.receipt_handle.expect("a handle");
                    let gone = self.sqs.delete_message().queue_url(url).receipt_handle(handle);
                    gone.send().await.expect("deleted");
                }
            }
        }
        taken
    }

    /// How many messages a queue has that nobody took.
    pub async fn length(&self, queue: &str) -> u64 {
        use aws_sdk_sqs::types::QueueAttributeName::ApproximateNumberOfMessages;
        let at = QUEUES.iter().position(|name| *name == queue).expect("a queue");
        let call = self.sqs.get_queue_attributes().queue_url(&self.queues[at]);
        let all = call.attribute_names(ApproximateNumberOfMessages).send().await.expect("asked");
        let all = all.attributes.expect("attributes");
        all[&ApproximateNumberOfMessages].parse().expect("a number")
    }

    /// Puts a message back on its queue, as when its handler failed.
    pub async fn send_back(&self, message: &Message) {
        let (queue, body) = match message {
            Message::Post(event) => (0, serde_json::to_string(event)),
            Message::Chunk(chunk) => (2, serde_json::to_string(chunk)),
            Message::Relation(event) => (4, serde_json::to_string(event)),
            Message::Rebuild(order) => (5, serde_json::to_string(order)),
        };
        let send = self.sqs.send_message().queue_url(&self.queues[queue]);
        send.message_body(body.expect("JSON")).send().await.expect("sent");
    }

    /// Runs the handler of a message.
    pub async fn handle(&self, message: &Message) -> Result<(), StoreError> {
        let now = self.now();
        match message {
            Message::Post(event) => {
                fanfold_dispatch::handler::dispatch(&self.dispatch, event, now, Deadline::NONE)
                    .await
                    .map(drop)
            }
            Message::Chunk(chunk) => {
                let deliver = fanfold_deliver::handler::deliver;
                let chunks = std::slice::from_ref(chunk);
                deliver(&self.deliver, chunks, now).await.pop().expect("an answer for the chunk")
            }
            Message::Relation(event) => {
                fanfold_graph::handler::bring_in_line(&self.graph, event, now).await.map(drop)
            }
            Message::Rebuild(order) => {
                fanfold_rebuild::handler::rebuild(&self.rebuild, order, now).await.map(drop)
            }
        }
    }

    /// Handles messages, and those that come of them, until the queues are empty.
    pub async fn drain(&self) {
        loop {
            let messages = self.take().await;
            if messages.is_empty() {
                return;
            }
            for message in messages {
                self.handle(&message).await.expect("handled");
            }
        }
    }

    /// A connection to the world's Valkey, beside the handlers'.
    pub async fn redis(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.config.text("REDIS_URL").expect("a url"));
        client.expect("a client").get_multiplexed_async_connection().await.expect("Valkey")
    }

    /// Takes all of a user's keys out of Valkey, as if it had been restarted empty.
    pub async fn forget(&self, names: &[&str]) {
        let keys = self.timeline.feeds.valkey.keys();
        let mut connection = self.redis().await;
        for user in names.iter().map(|name| self.id(name)) {
            for feed in Feed::own(user) {
                let mut gone = redis::pipe();
                gone.cmd("DEL").arg(keys.feed(feed)).arg(keys.lock(feed));
                gone.cmd("ZREM").arg(keys.live(keys.bucket(user))).arg(keys.feed(feed));
                for author in names {
                    gone.cmd("DEL").arg(keys.rel(keys.bucket(user), self.id(author)));
                }
                let _: redis::Value = gone.query_async(&mut connection).await.expect("forgotten");
            }
        }
    }
}

pub async fn create_table(dynamo: &aws_sdk_dynamodb::Client, name: &str, sorted: bool) {
    let mut table = dynamo.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
    let keys = [("pk", KeyType::Hash), ("sk", KeyType::Range)];
    for (key, kind) in keys.into_iter().take(if sorted { 2 } else { 1 }) {
        let attribute = AttributeDefinition::builder()
            .attribute_name(key)
            .attribute_type(ScalarAttributeType::S);
        let element = KeySchemaElement::builder().attribute_name(key).key_type(kind);
        table = table
            .attribute_definitions(attribute.build().expect("an attribute"))
            .key_schema(element.build().expect("a key"));
    }
    table.send().await.expect("a table");
}
