//! The handlers of all functions in this process, with real servers and with their own tables and queues.
//! Messages stay on the queues until the test takes them. The test therefore decides when, in which order and
//! how often they arrive.

use std::sync::Mutex;
use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::message::Received as _;
use fanfold_core::registry::{
    CHANGE_EVENTS, CHUNKS, DUE_ITEMS, POST_EVENTS, QUEUES, REBUILDS, TIMER_EVENTS, WEBHOOKS,
};
use fanfold_core::{FeedId, HandleHash, PostId, Relation, Time, UserId, UserRef};
use fanfold_engines::due::ItemDue;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::tally::Counts;
use fanfold_engines::valkey::CardId;
use fanfold_functions::admin::{self, Admin};
use fanfold_kinds::fanout::deliver;
use fanfold_kinds::fanout::dispatch;
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::follows;
use fanfold_kinds::follows::messages::{CountFollowers, RelationChanged};
use fanfold_kinds::home::{self, FeedPage, Span};
use fanfold_kinds::marks::{self, MarkKind};
use fanfold_kinds::people;
use fanfold_kinds::people::items::ProfilePut;
use fanfold_kinds::people::messages::ProfileChanged;
use fanfold_kinds::posts::messages::{PostDeleted, PostPublished};
use fanfold_kinds::posts::{self, NewPost};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::subscriptions::{ChangeEvent, ChunkOrder, PostEvent, RebuildOrder};
use fanfold_kinds::tags::messages::UpdateTagFeeds;
use fanfold_kinds::timers::messages::TimerFired;
use fanfold_kinds::{App, due, tags};
use fanfold_runtime::aws::{self, SdkConfig};
use fanfold_runtime::clock::{self, Deadline};
use fanfold_runtime::sqs::Announced;
use fanfold_runtime::{Config, StoreError};

use super::{dice, setting};
use crate::harness::any::AnyMessage;

pub struct World {
    pub app: App,
    pub admin: Admin,
    pub config: Config,
    pub sdk: SdkConfig,
    pairs: Vec<(String, String)>,
    sqs: aws_sdk_sqs::Client,
    queues: Vec<String>,
    /// The handlers' clock.
    now: Mutex<Time>,
    /// Makes the users of this world different from the users of every other world.
    name: u64,
}

#[derive(Debug, Clone)]
pub enum Message {
    Post(PostPublished),
    Deleted(PostDeleted),
    Chunk(DeliverChunk),
    Tags(UpdateTagFeeds),
    Relation(RelationChanged),
    Profile(ProfileChanged),
    Count(CountFollowers),
    /// Events of marks and boards.
    Like(ChangeEvent),
    Rebuild(RebuildOrder),
    Due(ItemDue),
    Fired(TimerFired),
}

impl From<AnyMessage> for Message {
    fn from(message: AnyMessage) -> Self {
        match message {
            AnyMessage::Post(PostEvent::PostPublished(event)) => Self::Post(event),
            AnyMessage::Post(PostEvent::PostDeleted(event)) => Self::Deleted(event),
            AnyMessage::Chunk(ChunkOrder::DeliverChunk(chunk)) => Self::Chunk(chunk),
            AnyMessage::Chunk(ChunkOrder::UpdateTagFeeds(order)) => Self::Tags(order),
            AnyMessage::Change(event) => event.into(),
            AnyMessage::Rebuild(order) => Self::Rebuild(order),
            AnyMessage::Due(message) => Self::Due(message),
            AnyMessage::Fired(message) => Self::Fired(message),
        }
    }
}

impl From<ChangeEvent> for Message {
    fn from(event: ChangeEvent) -> Self {
        match event {
            ChangeEvent::RelationChanged(event) => Self::Relation(event),
            ChangeEvent::ProfileChanged(event) => Self::Profile(event),
            ChangeEvent::CountFollowers(order) => Self::Count(order),
            event @ (ChangeEvent::MarkChanged(_)
            | ChangeEvent::CountLikes(_)
            | ChangeEvent::CountReplies(_)
            | ChangeEvent::PostEdited(_)
            | ChangeEvent::ScoresChanged(_)
            | ChangeEvent::BoardChanged(_)
            | ChangeEvent::PostDeleted(_)) => Self::Like(event),
        }
    }
}

/// The databases of the Valkey server of the tests, as `cargo local` starts it.
const DATABASES: u64 = 4_096;

impl World {
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    /// A world with settings such as `("FEED_CAP", "10")`.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let sdk = aws::sdk_config().await;
        let name = dice::fresh();
        let dynamo = aws_sdk_dynamodb::Client::new(&sdk);
        let sqs = aws_sdk_sqs::Client::new(&sdk);
        // worlds have the same handles, so each has a database of its own
        let database = 1 + name % (DATABASES - 1);
        let url = format!("{}/{database}", setting("REDIS_URL"));
        let mut pairs = vec![("REDIS_URL".to_owned(), url)];
        for (table, sorted) in [
            ("USERS_TABLE", false),
            ("POSTS_TABLE", true),
            ("GRAPH_TABLE", true),
            ("DUE_TABLE", true),
            ("MARKS_TABLE", true),
            ("BOARDS_TABLE", true),
        ] {
            let unique = format!("{table}-{name:x}");
            create_table(&dynamo, &unique, sorted).await;
            pairs.push((table.to_owned(), unique));
        }
        let mut queues = Vec::new();
        for queue in QUEUES.iter().chain([&TIMER_EVENTS]) {
            let unique = format!("{}-{name:x}", queue.url);
            let created = sqs.create_queue().queue_name(unique).send().await;
            let url = created.expect("a queue").queue_url.expect("its url");
            pairs.push((queue.url.to_owned(), url.clone()));
            queues.push(url);
        }
        let dead = sqs.create_queue().queue_name(format!("DEAD-{name:x}")).send().await;
        let dead = dead.expect("a queue").queue_url.expect("its url");
        for queue in QUEUES {
            pairs.push((queue.dead_url.to_owned(), dead.clone()));
        }
        let doctor = sqs.create_queue().queue_name(format!("DOCTOR-{name:x}")).send().await;
        let doctor = doctor.expect("a queue").queue_url.expect("its url");
        pairs.push(("DOCTOR_QUEUE_URL".to_owned(), doctor));
        // the clock of a world stands still, so a minute never ends: turn the limits off
        for limit in LimitKind::ALL {
            pairs.push((limit.setting().0.to_owned(), "0".to_owned()));
        }
        pairs.extend(settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        let config = Config::from_pairs(pairs.clone());
        let mut app = App::new(&sdk, &config).expect("the stores");
        app.settings.event_delay = Duration::ZERO;
        app.counts = Counts::after(Duration::ZERO);
        let admin = Admin { app: app.clone(), ..Admin::new(&sdk, &config).expect("admin") };
        Self { app, admin, config, sdk, pairs, sqs, queues, now: Mutex::new(clock::now()), name }
    }

    /// The world's settings with one changed, for example to the address of a server that does not exist.
    pub fn config_with_one(&self, name: &str, value: &str) -> Config {
        self.config_with(&[(name, value)])
    }

    /// The world's settings with some of them changed.
    pub fn config_with(&self, changes: &[(&str, &str)]) -> Config {
        let pairs = self.pairs.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        Config::from_pairs(pairs.chain(changes.iter().copied()))
    }

    pub fn now(&self) -> Time {
        *self.now.lock().expect("the clock")
    }

    pub fn advance(&self, length: Duration) {
        *self.now.lock().expect("the clock") += length;
    }

    pub fn identity(&self, name: &str) -> Identity {
        Identity::of(&format!("world {:x}", self.name), name)
    }

    pub fn id(&self, name: &str) -> UserId {
        self.identity(name).user()
    }

    /// Creates a profile for each name, without events.
    pub async fn people(&self, names: &[&str]) {
        for name in names {
            let handle = name.parse().expect("a handle");
            let (sent, identity) = (Announced::assumed(), self.identity(name));
            let put = self.app.users.put_profile(sent, &identity, &handle, name).await;
            assert!(matches!(put.expect("a profile"), ProfilePut::Created(_)));
            let hint = CardId::handle(HandleHash::of(&handle));
            self.app.valkey.cards_changed(&[hint]).await.expect("marked");
        }
    }

    /// Changes the profile of a user.
    pub async fn rename(&self, user: &str, handle: &str, name: &str) {
        let (identity, now) = (self.identity(user), self.now());
        let put = people::put_profile(&self.app, &identity, handle, name, now);
        put.await.expect("renamed");
    }

    pub async fn publish(&self, author: &str, text: &str) -> PostId {
        self.try_publish(author, text).await.expect("a post")
    }

    pub async fn try_publish(
        &self,
        author: &str,
        text: &str,
    ) -> Result<PostId, fanfold_kinds::Error> {
        let author = self.identity(author);
        let shown = posts::publish(&self.app, &author, text, None, self.now()).await?;
        Ok(shown.post.id)
    }

    pub async fn reply(&self, author: &str, to: PostId) -> PostId {
        self.try_reply(author, to).await.expect("a reply")
    }

    pub async fn try_reply(
        &self,
        author: &str,
        to: PostId,
    ) -> Result<PostId, fanfold_kinds::Error> {
        self.advance(Duration::from_millis(1));
        let (author, now) = (self.identity(author), self.now());
        let new = NewPost { in_reply_to: Some(to), .."a reply".into() };
        Ok(posts::publish(&self.app, &author, new, None, now).await?.post.id)
    }

    pub async fn delete(&self, author: &str, post: PostId) {
        let author = self.identity(author);
        posts::delete(&self.app, &author, post, self.now()).await.expect("deleted");
    }

    pub async fn relate(&self, follower: &str, author: &str, relation: Relation) {
        let (follower, author) = (self.identity(follower), UserRef::Id(self.id(author)));
        follows::relate(&self.app, &follower, &author, relation, self.now())
            .await
            .expect("related");
    }

    /// Puts a mark on a post, or removes it.
    pub async fn mark(&self, user: &str, kind: MarkKind, post: PostId, marked: bool) {
        let identity = self.identity(user);
        let done = marks::put(&self.app, &identity, kind, post, marked, self.now()).await;
        done.expect("marked");
    }

    pub async fn like(&self, user: &str, post: PostId) {
        self.mark(user, MarkKind::Like, post, true).await;
    }

    pub async fn unlike(&self, user: &str, post: PostId) {
        self.mark(user, MarkKind::Like, post, false).await;
    }

    pub async fn follow(&self, follower: &str, author: &str) {
        self.relate(follower, author, Relation::Following).await;
    }

    pub async fn unfollow(&self, follower: &str, author: &str) {
        self.relate(follower, author, Relation::NotFollowing).await;
    }

    pub async fn page(&self, feed: FeedId, span: Span, limit: usize) -> FeedPage {
        page(&self.app, feed, span, limit, self.now()).await.expect("a page")
    }

    /// All posts of a feed, read page by page.
    pub async fn walk(&self, feed: FeedId, limit: usize) -> Vec<PostId> {
        let (mut span, mut walked) = (Span::ALL, Vec::new());
        for _ in 0..1_000 {
            let page = self.page(feed, span, limit).await;
            let last = page.next_before.is_none();
            assert!(last || page.posts.len() == limit, "the page is neither full nor the last");
            walked.extend(page.ids());
            match page.next_before {
                Some(before) => span.before = before,
                None => return walked,
            }
        }
        panic!("the feed has more than 1,000 pages");
    }

    pub async fn home(&self, name: &str) -> Vec<PostId> {
        self.walk(FeedId::home(self.id(name)), 7).await
    }

    /// Receives and deletes all messages on the queues.
    pub async fn take(&self) -> Vec<Message> {
        let mut taken = Vec::new();
        // the last queue is for consumers outside the deployment: see `timer_events`
        for (index, url) in self.queues.iter().take(QUEUES.len()).enumerate() {
            loop {
                let call = self.sqs.receive_message().queue_url(url).max_number_of_messages(10);
                let messages = call.send().await.expect("messages").messages.unwrap_or_default();
                if messages.is_empty() {
                    break;
                }
                for message in messages {
                    let body = message.body.expect("a body");
                    let message_read = AnyMessage::decode(QUEUES[index], &body).expect("a message");
                    taken.push(message_read.into());
                    let handle = message.receipt_handle.expect("a handle");
                    let gone = self.sqs.delete_message().queue_url(url).receipt_handle(handle);
                    gone.send().await.expect("deleted");
                }
            }
        }
        taken
    }

    /// The groups of the next messages on a queue, at least so many.
    pub async fn groups(&self, queue_url: &'static str, at_least: usize) -> Vec<String> {
        use aws_sdk_sqs::types::MessageSystemAttributeName::MessageGroupId;
        let (url, mut groups) = (self.config.text(queue_url).expect("a queue"), Vec::new());
        while groups.len() < at_least {
            let call = self.sqs.receive_message().queue_url(&url).max_number_of_messages(10);
            let call = call.message_system_attribute_names(MessageGroupId);
            let messages = call.send().await.expect("messages").messages.unwrap_or_default();
            assert!(!messages.is_empty(), "{groups:?}");
            for message in messages {
                groups.push(message.attributes.unwrap_or_default()[&MessageGroupId].clone());
            }
        }
        groups
    }

    /// Receives and deletes all messages of timers.
    pub async fn timer_events(&self) -> Vec<TimerFired> {
        let (mut taken, url) = (Vec::new(), self.queues.last().expect("a queue"));
        loop {
            let call = self.sqs.receive_message().queue_url(url).max_number_of_messages(10);
            let messages = call.send().await.expect("messages").messages.unwrap_or_default();
            if messages.is_empty() {
                return taken;
            }
            for message in messages {
                let body = message.body.expect("a body");
                taken.push(TimerFired::decode(&body).expect("a message"));
                let handle = message.receipt_handle.expect("a handle");
                let gone = self.sqs.delete_message().queue_url(url).receipt_handle(handle);
                gone.send().await.expect("deleted");
            }
        }
    }

    /// The number of messages on a queue that were not received.
    pub async fn length(&self, queue: &str) -> u64 {
        use aws_sdk_sqs::types::QueueAttributeName::ApproximateNumberOfMessages;
        let at = QUEUES.iter().position(|known| known.url == queue).expect("a queue");
        let call = self.sqs.get_queue_attributes().queue_url(&self.queues[at]);
        let all = call.attribute_names(ApproximateNumberOfMessages).send().await.expect("asked");
        let all = all.attributes.expect("attributes");
        all[&ApproximateNumberOfMessages].parse().expect("a number")
    }

    /// Sends a message to its queue again, as if its handler had failed.
    pub async fn send_back(&self, message: &Message) {
        let (queue, body) = match message {
            Message::Post(event) => (POST_EVENTS, event.encode()),
            Message::Deleted(event) => (POST_EVENTS, event.encode()),
            Message::Profile(event) => (CHANGE_EVENTS, event.encode()),
            Message::Chunk(chunk) => (CHUNKS, chunk.encode()),
            Message::Tags(order) => (CHUNKS, order.encode()),
            Message::Relation(event) => (CHANGE_EVENTS, event.encode()),
            Message::Count(order) => (CHANGE_EVENTS, order.encode()),
            Message::Like(event) => (CHANGE_EVENTS, event.encode()),
            Message::Rebuild(order) => (REBUILDS, order.encode()),
            Message::Due(message) => (DUE_ITEMS, message.encode()),
            Message::Fired(message) => (WEBHOOKS, message.encode()),
        };
        let url = self.config.text(queue.url).expect("its URL");
        let send = self.sqs.send_message().queue_url(url);
        send.message_body(body.expect("JSON")).send().await.expect("sent");
    }

    /// Runs the handler of a message.
    pub async fn handle(&self, message: &Message) -> Result<(), StoreError> {
        let (app, now, end) = (&self.app, self.now(), Deadline::NONE);
        match message {
            Message::Post(event) => dispatch::dispatch(app, event, now, end).await.map(drop),
            Message::Deleted(event) => posts::events::deleted(app, event, now).await,
            Message::Profile(event) => people::events::profile_changed(app, event, now).await,
            Message::Chunk(chunk) => {
                let chunks = std::slice::from_ref(chunk);
                let mut outcomes = deliver::deliver(app, chunks, &[], now).await;
                outcomes.pop().expect("an outcome for the chunk").whole()
            }
            Message::Tags(order) => tags::sync::each(app, &[order.post], now).await.remove(0),
            Message::Relation(event) => follows::events::relation_changed(app, event, now).await,
            Message::Count(order) => follows::events::count(app, order).await.map(drop),
            Message::Like(event) => event.handle(app, now, end).await,
            Message::Rebuild(order) => order.handle(app, now, end).await,
            Message::Due(message) => due::handle(app, message, now).await.map(drop),
            Message::Fired(_) => panic!("no world has an address for webhooks"),
        }
    }

    /// Drops a user, as often as the order says that it is not done. The order counts the time that it takes, so the
    /// clock of the world must count it too: then messages of before are older than `COMMIT_GRACE`.
    pub async fn drop_user(&self, name: &str) {
        loop {
            let began = std::time::Instant::now();
            let order = admin::order::AdminOrder::DropUser { user: self.id(name).to_string() };
            let dropped = admin::execute(&self.admin, order, self.now(), Deadline::NONE).await;
            let dropped = dropped.expect("dropped");
            self.advance(began.elapsed());
            if dropped["done"] == true {
                break;
            }
            let wait = dropped["wait_ms"].as_u64().expect("a time");
            self.advance(Duration::from_millis(wait + 1));
        }
    }

    /// Handles all messages, and the messages that they cause, until the queues are empty.
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

    /// A connection to the world's Valkey, separate from the connection of the handlers.
    pub async fn redis(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.config.text("REDIS_URL").expect("a url"));
        client.expect("a client").get_multiplexed_async_connection().await.expect("Valkey")
    }

    /// Deletes all keys of the users in Valkey, as if it had been restarted empty.
    pub async fn forget(&self, names: &[&str]) {
        let keys = self.app.valkey.keys();
        let mut connection = self.redis().await;
        for user in names.iter().map(|name| self.id(name)) {
            for feed in FeedId::own(user) {
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

/// A page of a feed, for a viewer from whom nothing is hidden.
pub async fn page(
    app: &App,
    feed: FeedId,
    span: Span,
    limit: usize,
    now: Time,
) -> Result<FeedPage, fanfold_kinds::Error> {
    let reading = ReadContext::new(now);
    home::page(app, &Viewer::of(feed.user()), feed, span, limit, &reading).await
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
