//! The calls of each operation: what it asks the stores for, how many calls follow each other, and what DynamoDB charges.
//! `tests/fixtures/calls.txt` has them. An operation that makes another number of calls fails this test; if it is meant to,
//! `FANFOLD_WRITE_CALLS=1 cargo local test simulation::calls` writes the file again, and the commit says why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::registry::QUEUES;
use fanfold_core::{FeedId, PostId, Ranking, Relation, Scores, Time, UserRef};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::recent::Recent;
use fanfold_engines::table::ByTime;
use fanfold_engines::valkey::PageOf;
use fanfold_functions::admin;
use fanfold_functions::admin::order::AdminOrder;
use fanfold_kinds::boards::change::{ScoreChange as Score, What, change};
use fanfold_kinds::boards::{BoardRef, read, settings};
use fanfold_kinds::due::{handle as handle_due, look_ahead};
use fanfold_kinds::follows;
use fanfold_kinds::home::{self, Span};
use fanfold_kinds::marks::{self, MarkKind};
use fanfold_kinds::posts::NewPost;
use fanfold_kinds::present::{self, Viewer};
use fanfold_kinds::replies::RepliesTo;
use fanfold_kinds::scheduled::{self, NewScheduled, ScheduledEdit};
use fanfold_kinds::subscriptions::deliver;
use fanfold_kinds::sweep::sweep;
use fanfold_kinds::tags::cases;
use fanfold_kinds::tags::names::NamedTag;
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_kinds::{App, audit, likes, people, posts, rankings, replies};
use fanfold_runtime::clock::Deadline;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::apps::{Apps, PEOPLE, START, id, identity};
use super::server::Server;
use super::tasks::runtime;
use super::units::Units;
use crate::harness::any::AnyMessage;
use crate::harness::{board_settings, root};

/// Every call takes this long, so the time of an operation tells how many calls follow each other.
const CALL: Duration = Duration::from_millis(10);
const FILE: &str = "tests/fixtures/calls.txt";
/// The beginning of the names of handlers.
const HANDLE: &str = "  handle ";

/// The stores, and what was counted so far.
struct Count {
    apps: Apps,
    now: Time,
    text: String,
    /// What handlers did already.
    known: BTreeSet<String>,
}

impl Count {
    /// Counts the calls of an operation.
    async fn of<T>(&mut self, name: &str, operation: impl AsyncFnOnce(&Apps, Time) -> T) -> T {
        self.now += Duration::from_millis(1);
        // what an operation does by chance does not depend on those before it
        fastrand::seed(name.bytes().fold(7, |seed, byte| seed.rotate_left(5) ^ u64::from(byte)));
        self.apps.steps.take_counted();
        self.apps.cloud.lock().units = Default::default();
        let began = Instant::now();
        let result = operation(&self.apps, self.now).await;
        let rounds = began.elapsed().as_millis() / CALL.as_millis();
        let mut calls: BTreeMap<String, u64> = BTreeMap::new();
        for call in self.apps.steps.take_counted() {
            *calls.entry(call).or_default() += 1;
        }
        let units = self.apps.cloud.lock().units;
        let Units { reads, writes } = units;
        let mut text =
            format!("{name}: {rounds} in a row, {reads} read units, {writes} write units\n");
        for (call, count) in calls {
            writeln!(text, "    {count} {call}").expect("a text");
        }
        if !name.starts_with(HANDLE) || self.known.insert(text.clone()) {
            self.text.push_str(&text);
        }
        result
    }

    /// The same, of what is only prepared: it is in no file.
    async fn quietly(&mut self, prepare: impl AsyncFnOnce(&mut Self)) {
        let (text, known) = (self.text.clone(), self.known.clone());
        prepare(self).await;
        (self.text, self.known) = (text, known);
    }

    /// Counts the handlers of the messages that were sent, and of those that they send. What another message of this kind did
    /// in the same way is not repeated.
    async fn drain(&mut self) {
        while let Some(sent) = take(&self.apps) {
            for (kind, message) in sent {
                let name = format!("{HANDLE}{kind}");
                self.of(&name, async |apps, now| handle(apps, message, now).await).await;
            }
        }
    }
}

/// Takes the messages for functions, each with its type. `None`: no message was sent.
pub fn take(apps: &Apps) -> Option<Vec<(String, AnyMessage)>> {
    let sent = std::mem::take(&mut apps.cloud.lock().sent);
    let read = |(queue, body): &(String, String)| {
        let spec = QUEUES.iter().find(|spec| spec.name == queue)?;
        let kind: Value = serde_json::from_str(body).expect("JSON");
        let kind = kind["type"].as_str().expect("a type").to_owned();
        Some((kind, AnyMessage::decode(spec, body).expect("a message")))
    };
    (!sent.is_empty()).then(|| sent.iter().filter_map(read).collect())
}

/// Handles the messages that were sent, and those that their handlers send.
pub async fn handle_all(apps: &Apps, now: Time) {
    while let Some(sent) = take(apps) {
        for (_, message) in sent {
            handle(apps, message, now).await;
        }
    }
}

async fn handle(apps: &Apps, message: AnyMessage, now: Time) {
    let end = Deadline::NONE;
    let handled = match message {
        AnyMessage::Post(event) => event.handle(&apps.app, now, end).await,
        AnyMessage::Chunk(chunk) => {
            let mut outcomes = deliver(&apps.app, vec![chunk], &[], now).await;
            outcomes.pop().expect("an outcome").whole()
        }
        AnyMessage::Change(event) => event.handle(&apps.app, now, end).await,
        AnyMessage::Rebuild(order) => order.handle(&apps.app, now, end).await,
        AnyMessage::Due(message) => {
            handle_due(&apps.app, &message, now.max(message.entry.at)).await.map(drop)
        }
        AnyMessage::Fired(_) => Ok(()),
    };
    handled.expect("handled");
}

#[test]
fn each_operation_makes_the_calls_of_the_file() {
    let server = Server::start();
    let text = runtime().block_on(async {
        let mut apps = Apps::on(&server, &[], RetryConfig::disabled(), true);
        // as in a deployment without `FEEDS_KEPT_DAYS`
        apps.app.settings.kept.keep = Duration::ZERO;
        // the clients of AWS throw dice, too
        fastrand::seed(1);
        apps.valkey.reset();
        apps.steps.set_free(true);
        apps.steps.set_latency(CALL);
        apps.cloud.lock().latency = (CALL, CALL);
        let mut count = Count { apps, now: START, text: String::new(), known: BTreeSet::new() };
        people(&mut count).await;
        feeds(&mut count).await;
        due(&mut count).await;
        boards(&mut count).await;
        rest(&mut count).await;
        count.text
    });
    let file = root().join(FILE);
    if std::env::var_os("FANFOLD_WRITE_CALLS").is_some() {
        std::fs::write(&file, &text).expect("written");
    }
    let found = std::fs::read_to_string(&file).expect("the file");
    for (found, made) in found.split_inclusive('\n').zip(text.split_inclusive('\n')) {
        assert_eq!(made, found, "{FILE} differs");
    }
    assert_eq!(text.len(), found.len(), "{FILE} differs");
}

async fn people(count: &mut Count) {
    let [ash, birch, cedar, dogwood] = PEOPLE;
    let put = async |count: &mut Count, what: &str, user: &str, name: &str| {
        let put = count.of(what, async |apps, now| {
            people::put_profile(&apps.app, &identity(user), user, name, now).await
        });
        put.await.expect("a profile");
    };
    let prepare = async |count: &mut Count| {
        for user in [birch, cedar, dogwood] {
            put(count, "", user, user).await;
        }
        count.drain().await;
    };
    count.quietly(prepare).await;
    put(count, "make a profile", ash, ash).await;
    put(count, "change a profile", ash, "Ash tree").await;
    put(count, "change a profile to the same", ash, "Ash tree").await;
    count.drain().await;
    for what in ["read a profile", "read a profile again"] {
        let read = count.of(what, async |apps, now| {
            let (viewer, reading) = (Viewer::of(id(birch)), ReadContext::new(now));
            let ash = UserRef::Id(id(ash));
            present::profile(&apps.app, &viewer, &ash, &reading).await
        });
        assert!(read.await.expect("a profile").about.is_empty());
    }
    for (what, relation) in [
        ("follow", Relation::Following),
        ("follow again", Relation::Following),
        ("unfollow", Relation::NotFollowing),
        ("follow after an unfollow", Relation::Following),
    ] {
        let relate = count.of(what, async |apps, now| {
            let author = UserRef::Id(id(ash));
            follows::relate(&apps.app, &identity(birch), &author, relation, now).await
        });
        relate.await.expect("related");
        count.drain().await;
    }
    let prepare = async |count: &mut Count| {
        for (user, author) in [(cedar, ash), (birch, cedar), (dogwood, ash)] {
            let (app, author) = (&count.apps.app, UserRef::Id(id(author)));
            let follow = follows::relate;
            follow(app, &identity(user), &author, Relation::Following, count.now)
                .await
                .expect("done");
        }
        count.drain().await;
    };
    count.quietly(prepare).await;
    let viewer = Viewer::of(id(dogwood));
    for (what, owner) in [("list followers", ash), ("list followed authors", birch)] {
        let list = count.of(what, async |apps, now| {
            let (app, reading) = (&apps.app, ReadContext::new(now));
            match owner == ash {
                true => follows::followers(app, &viewer, id(owner), None, 20, &reading).await,
                false => follows::following(app, &viewer, id(owner), None, 20, &reading).await,
            }
        });
        assert!(!list.await.expect("a page").items.is_empty());
    }
}

async fn publish(count: &mut Count, what: &str, key: Option<&str>) -> PostId {
    let publish = count.of(what, async |apps, now| {
        posts::publish(&apps.app, &identity(PEOPLE[0]), "a text", key, now).await
    });
    publish.await.expect("published").post.id
}

/// A post by a user whom no later operation is about.
async fn publish_entities(count: &mut Count) -> PostId {
    let [ash, birch, cedar, dogwood] = PEOPLE;
    let text = format!("@{ash} @{birch} @{cedar} #one #two");
    let what = "publish a post with three mentions and two tags";
    let mut posts = Vec::new();
    for what in [what.to_owned(), format!("{what}, of users with cards")] {
        let publish = count.of(&what, async |apps, now| {
            posts::publish(&apps.app, &identity(dogwood), text.as_str(), None, now).await
        });
        let post = publish.await.expect("published").post;
        assert_eq!(post.entities.0.len(), 5);
        posts.push(post.id);
    }
    count.drain().await;
    tags(count).await;
    posts[0]
}

/// Pages of a tag.
async fn tags(count: &mut Count) {
    let tag = "one".parse().expect("a tag");
    let (feed, viewer) = (FeedId::of_tag(&tag), Viewer::of(id(PEOPLE[3])));
    let kept = Recent::of(Duration::from_secs(1));
    for what in [
        "read a tag feed that is not live",
        "read a tag feed",
        "read a tag feed whose first page is kept",
    ] {
        let page = count.of(what, async |apps, now| {
            let app = App { first_pages: kept.clone(), ..apps.app.clone() };
            let app = if what == "read a tag feed" { &apps.app } else { &app };
            home::page(app, &viewer, feed, Span::ALL, 20, &ReadContext::new(now)).await
        });
        assert_eq!(page.await.expect("a page").ids().count(), 2, "{what}");
    }
    let used = count.of("read how a tag is used", async |apps, now| {
        cases::tag(&apps.app, &viewer, &tag, now).await
    });
    assert_eq!(used.await.expect("read").0.posts, 2);
    let named = NamedTag::new("one").expect("a tag");
    let follow = count.of("follow a tag", async |apps, now| {
        cases::follow(&apps.app, &identity(PEOPLE[3]), &named, true, now).await
    });
    follow.await.expect("followed");
    let complete = count.of("complete a tag", async |apps, now| {
        cases::beginning_with(&apps.app, id(PEOPLE[3]), "on", now).await
    });
    assert_eq!(complete.await.expect("read"), [named]);
}

/// An edit, and its versions.
async fn edits(count: &mut Count, post: PostId) {
    let dogwood = PEOPLE[3];
    let edit = count.of("edit a post", async |apps, now| {
        let edit = posts::edit;
        let me = identity(dogwood);
        Box::pin(edit(&apps.app, &me, post, "another text", Some(&[1]), now)).await
    });
    assert_eq!(edit.await.expect("edited").post.version, 2);
    count.drain().await;
    let history = count.of("read the versions of a post", async |apps, now| {
        let (viewer, reading) = (Viewer::of(id(dogwood)), ReadContext::new(now));
        posts::history(&apps.app, &viewer, post, &reading).await
    });
    assert_eq!(history.await.expect("versions").len(), 2);
}

/// A thread of posts of a user whom no later operation is about.
async fn thread(count: &mut Count, root: PostId) {
    let dogwood = PEOPLE[3];
    let mut answered = root;
    for what in ["reply", "reply to a reply"] {
        let new = NewPost { in_reply_to: Some(answered), .."a reply".into() };
        let publish = count.of(what, async |apps, now| {
            posts::publish(&apps.app, &identity(dogwood), new, None, now).await
        });
        answered = publish.await.expect("published").post.id;
        count.drain().await;
    }
    for (what, post, above) in [
        ("read a context after a reply", root, 0),
        ("read a context", root, 0),
        ("read the context of a reply", answered, 2),
    ] {
        let context = count.of(what, async |apps, now| {
            let (viewer, reading) = (Viewer::of(id(dogwood)), ReadContext::new(now));
            let list = RepliesTo(post, ByTime::NewestFirst);
            replies::context(&apps.app, &viewer, list, None, 20, &reading).await
        });
        let context = context.await.expect("a context");
        assert_eq!((context.above.len(), context.replies.items.len()), (above, 2 - above));
    }
    Box::pin(edits(count, root)).await;
    let delete = count.of("delete a reply", async |apps, now| {
        posts::delete(&apps.app, &identity(dogwood), answered, now).await
    });
    delete.await.expect("deleted");
    count.drain().await;
}

async fn page(count: &mut Count, what: &str, feed: FeedId) {
    let page = count.of(what, async |apps, now| {
        let (viewer, reading) = (Viewer::of(feed.user()), ReadContext::new(now));
        home::page(&apps.app, &viewer, feed, Span::ALL, 20, &reading).await
    });
    assert!(page.await.expect("a page").ids().next().is_some());
}

async fn feeds(count: &mut Count) {
    let [ash, birch, cedar, _] = PEOPLE;
    let (home, own) = (FeedId::home(id(birch)), FeedId::author(id(ash)));
    publish(count, "publish a post", None).await;
    count.drain().await;
    page(count, "read a home feed that is not live", home).await;
    count.drain().await;
    page(count, "read a home feed", home).await;
    let post = publish(count, "publish a post with a key", Some("a key")).await;
    publish(count, "publish a post with the same key", Some("a key")).await;
    count.drain().await;
    page(count, "read a home feed with a new post", home).await;
    page(count, "read the same page", home).await;
    count.apps.valkey.evict();
    page(count, "read a home feed whose cards are gone", home).await;
    let pull = count.of("read a home feed by pull", async |apps, now| {
        let viewer = Viewer::of(id(birch));
        home::pulled_page(&apps.app, &viewer, home, Span::ALL, 20, now).await
    });
    pull.await.expect("a page");
    page(count, "read an author feed", own).await;
    count.drain().await;
    page(count, "read an author feed again", own).await;
    let read = count.of("read a post", async |apps, now| {
        posts::read(&apps.app, &Viewer::of(id(birch)), post, now).await
    });
    read.await.expect("a post");
    for kind in MarkKind::ALL.iter().copied() {
        let name = format!("{kind:?}").to_lowercase();
        for (what, marked) in [("put", true), ("put again", true), ("remove", false)] {
            let what = format!("{what} a {name}");
            let put = count.of(&what, async |apps, now| {
                marks::put(&apps.app, &identity(birch), kind, post, marked, now).await
            });
            put.await.expect("marked");
            count.drain().await;
        }
        let prepare = async |count: &mut Count| {
            let (app, now) = (&count.apps.app, count.now);
            marks::put(app, &identity(birch), kind, post, true, now).await.expect("marked");
            count.drain().await;
        };
        count.quietly(prepare).await;
        let what = format!("list {name}s");
        let list = count.of(&what, async |apps, now| {
            let (viewer, reading) = (Viewer::of(id(birch)), ReadContext::new(now));
            marks::marked(&apps.app, &viewer, kind, None, 20, &reading).await
        });
        assert_eq!(list.await.expect("a page").items.len(), 1);
    }
    let prepare = async |count: &mut Count| {
        let (app, now) = (&count.apps.app, count.now);
        marks::put(app, &identity(cedar), MarkKind::Like, post, true, now).await.expect("liked");
        count.drain().await;
    };
    count.quietly(prepare).await;
    let list = count.of("list who likes a post", async |apps, now| {
        let (viewer, reading) = (Viewer::of(id(ash)), ReadContext::new(now));
        likes::likers(&apps.app, &viewer, post, None, 20, &reading).await
    });
    assert_eq!(list.await.expect("a page").items.len(), 2);
    for what in ["read a ranking that is not made", "read a ranking"] {
        let read = count.of(what, async |apps, now| {
            let (viewer, reading) = (Viewer::of(id(ash)), ReadContext::new(now));
            rankings::page(&apps.app, &viewer, Ranking::PostsDay, None, 20, &reading).await
        });
        assert_eq!(read.await.expect("a page").entries.len(), 1);
    }
    let delivery = count.of("read a delivery receipt", async |apps, _| {
        posts::delivery(&apps.app, &identity(ash), post).await
    });
    delivery.await.expect("a receipt");
    let delete = count.of("delete a post", async |apps, now| {
        posts::delete(&apps.app, &identity(ash), post, now).await
    });
    delete.await.expect("deleted");
    count.drain().await;
    let root = publish_entities(count).await;
    Box::pin(thread(count, root)).await;
}

async fn due(count: &mut Count) {
    let me = identity(PEOPLE[0]);
    let publish_at = count.now + Duration::from_secs(3_600);
    let schedule = async |count: &mut Count, what: &str| {
        let new = NewScheduled { post: "later".into(), publish_at, key: None };
        let schedule =
            count.of(what, async |apps, now| scheduled::schedule(&apps.app, &me, new, now).await);
        schedule.await.expect("scheduled").id
    };
    let post = schedule(count, "schedule a post").await;
    let other = schedule(count, "schedule another post").await;
    let change = count.of("change a scheduled post", async |apps, now| {
        let change = ScheduledEdit { text: Some("another text"), ..ScheduledEdit::default() };
        scheduled::change(&apps.app, &me, post, change, now).await
    });
    change.await.expect("changed");
    let list = count.of("list scheduled posts", async |apps, _| {
        scheduled::list(&apps.app, me.user(), None, 20).await
    });
    assert_eq!(list.await.expect("a page").items.len(), 2);
    let cancel = count.of("cancel a scheduled post", async |apps, now| {
        scheduled::cancel(&apps.app, &me, other, now).await
    });
    cancel.await.expect("cancelled");
    let names = ["once", "each-hour"].map(|name| name.parse().expect("a name"));
    for (what, name) in [("put a timer", 0), ("put the same timer", 0), ("put another timer", 1)] {
        let every = (name == 1).then(|| "PT1H".parse().expect("a duration"));
        let new = NewTimer { due_at: publish_at, every, payload: json!(1) };
        let put = count
            .of(what, async |apps, now| timers::put(&apps.app, &me, &names[name], new, now).await);
        put.await.expect("put");
    }
    let read =
        count.of("read a timer", async |apps, _| timers::read(&apps.app, &me, &names[0]).await);
    read.await.expect("a timer");
    let list =
        count.of("list timers", async |apps, _| timers::list(&apps.app, me.user(), None, 20).await);
    assert_eq!(list.await.expect("a page").items.len(), 2);
    count.drain().await;
    for what in ["look ahead for the first time", "look ahead"] {
        let look =
            count.of(what, async |apps, now| look_ahead(&apps.app, now, Deadline::NONE).await);
        look.await.expect("looked ahead");
        count.drain().await;
    }
    count.now = publish_at - Duration::from_secs(60);
    let look = count.of("look ahead, with three items that are due", async |apps, now| {
        look_ahead(&apps.app, now, Deadline::NONE).await
    });
    assert_eq!(look.await.expect("looked ahead").handed_on, 3);
    count.drain().await;
    let delete = count.of("delete a timer", async |apps, now| {
        timers::delete(&apps.app, &me, &names[1], now).await
    });
    delete.await.expect("deleted");
}

async fn boards(count: &mut Count) {
    let me = identity(PEOPLE[0]);
    let name = "a board".parse().expect("a name");
    let board = BoardRef { owner: me.user(), name, day: None };
    for what in ["make a board", "put the same board"] {
        let put = count.of(what, async |apps, now| {
            settings::put(&apps.app, &me, &board.name, board_settings(json!({})), now).await
        });
        put.await.expect("a board");
        count.drain().await;
    }
    let set = |member: &str, score: i64| {
        let what = What::Set(Scores::new(&[score]).expect("scores"));
        Score { member: member.parse().expect("a name"), what }
    };
    for (what, scores, key) in [
        ("set the first score of a board", vec![set("a", 1)], None),
        ("set a score", vec![set("a", 2)], None),
        ("set three scores with a key", vec![set("a", 3), set("b", 2), set("c", 1)], Some("key")),
    ] {
        let put = count
            .of(what, async |apps, now| change(&apps.app, &me, &board, &scores, key, now).await);
        assert!(put.await.expect("changed").members.is_some());
        count.drain().await;
    }
    let list = count.of("list boards", async |apps, _| settings::list(&apps.app, me.user()).await);
    assert_eq!(list.await.expect("a list").len(), 1);
    let best = PageOf::Rank { from: 1, limit: 20 };
    let page = count.of("read a page of a board", async |apps, now| {
        read::page(&apps.app, &board, best, now).await
    });
    assert_eq!(page.await.expect("a page").page.rows.len(), 3);
    let members = ["a", "c"].map(|name| name.parse().expect("a name"));
    let standings = count.of("read two standings", async |apps, now| {
        read::standings(&apps.app, &board, &members, now).await
    });
    standings.await.expect("standings");
    let delete = count.of("delete a board", async |apps, now| {
        settings::delete(&apps.app, &me, &board.name, now).await
    });
    delete.await.expect("deleted");
    count.drain().await;
}

async fn rest(count: &mut Count) {
    count.of("sweep", async |apps, now| sweep(&apps.app, now).await).await.expect("swept");
    let audited =
        count.of("audit", async |apps, now| audit::audit(&apps.app, now, Deadline::NONE).await);
    audited.await.expect("audited");
    let user = id(PEOPLE[0]);
    for step in 1.. {
        assert!(step < 20, "the user is not erased");
        let what = format!("erase a user, step {step}");
        let erase = count.of(&what, async |apps, now| {
            let order = AdminOrder::DropUser { user: user.to_string() };
            admin::execute(&apps.admin, order, now, Deadline::NONE).await
        });
        let erased = erase.await.expect("erased");
        if erased["done"] == true {
            break;
        }
        count.drain().await;
        count.now += Duration::from_millis(erased["wait_ms"].as_u64().expect("a time") + 1);
    }
    kept(count).await;
}

/// The feed of an author who has more posts than heads.
async fn kept(count: &mut Count) {
    let author = PEOPLE[1];
    let settings = &mut count.apps.app.settings;
    settings.kept.keep = Duration::from_secs(3_600);
    (settings.inactive_after, settings.inline_authors) = (Duration::ZERO, 9);
    for _ in 0..5 {
        count.now += Duration::from_secs(60);
        let publish = posts::publish;
        publish(&count.apps.app, &identity(author), "text", None, count.now).await.expect("a post");
        handle_all(&count.apps, count.now).await;
    }
    let home = FeedId::home(id(author));
    page(count, "read a home feed of more posts than heads", home).await;
    count.now += Duration::from_secs(60);
    count.of("sweep and keep", async |apps, now| sweep(&apps.app, now).await).await.expect("swept");
    page(count, "read a home feed that was kept", home).await;
}
