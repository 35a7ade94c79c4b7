//! No list ends because DynamoDB ended a query early: with short and empty pages, each list is the same as without. Then a user
//! is erased with such pages, and nothing is left.

use std::fmt::Debug;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::{FeedId, PostId, Ranking, Relation, Scores, Time, UserRef};
use fanfold_engines::list::Page;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::PageOf;
use fanfold_functions::admin;
use fanfold_functions::admin::order::AdminOrder;
use fanfold_kinds::boards::change::{ScoreChange, What, change};
use fanfold_kinds::boards::{BoardRef, read, settings};
use fanfold_kinds::home::{self, Span};
use fanfold_kinds::marks::{self, MarkKind};
use fanfold_kinds::present::{self, Viewer};
use fanfold_kinds::scheduled::{self, NewScheduled};
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_kinds::{Error, follows, likes, people, posts, rankings};
use fanfold_runtime::clock::Deadline;
use serde_json::json;

use super::apps::{Apps, PEOPLE, START, id, identity};
use super::calls::handle_all;
use super::cloud::Faults;
use super::server::Server;
use super::tasks::runtime;
use crate::harness::board_settings;
use crate::harness::dice::Dice;

const OTHERS: usize = 12;
/// Greater than a page of a walk, and less than a list.
const LIMIT: usize = 5;
const ME: &str = PEOPLE[0];

fn other(n: usize) -> String {
    format!("other{n:02}")
}

/// The number of items of a list, and all that it shows.
type Listed = (usize, String);

fn listed<T: Debug>(all: &[T]) -> Listed {
    (all.len(), format!("{all:#?}"))
}

/// Follows the pages of a list.
async fn walk<T: Debug, P>(page: impl AsyncFn(Option<P>) -> Page<T, P>) -> Listed {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = page(after).await;
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            return listed(&all);
        }
    }
}

/// A page of a copy, as soon as messages have made it.
async fn made<T>(apps: &Apps, now: Time, page: impl AsyncFn() -> Result<T, Error>) -> T {
    for _ in 0..100 {
        match page().await {
            Err(Error::BoardBuilding | Error::RankingBuilding) => handle_all(apps, now).await,
            page => return page.expect("a page"),
        }
    }
    panic!("the copy is not made");
}

/// Everything that `ME` can list.
async fn lists(apps: &Apps, post: PostId, now: Time) -> Vec<(&'static str, Listed)> {
    apps.valkey.reset();
    let (me, viewer) = (identity(ME), Viewer::of(id(ME)));
    let reading = || ReadContext::new(now);
    let mut found = Vec::new();
    let followers = async |after| {
        let app = &apps.app;
        let page = follows::followers(app, &viewer, me.user(), after, LIMIT, &reading()).await;
        page.expect("a page")
    };
    found.push(("followers", walk(followers).await));
    let following = async |after| {
        let app = &apps.app;
        let page = follows::following(app, &viewer, me.user(), after, LIMIT, &reading()).await;
        page.expect("a page")
    };
    found.push(("followed authors", walk(following).await));
    let likers = async |after| {
        let page = likes::likers(&apps.app, &viewer, post, after, LIMIT, &reading()).await;
        page.expect("a page")
    };
    found.push(("who likes a post", walk(likers).await));
    let liked = async |after| {
        let page =
            marks::marked(&apps.app, &viewer, MarkKind::Like, after, LIMIT, &reading()).await;
        page.expect("a page")
    };
    found.push(("liked posts", walk(liked).await));
    let scheduled =
        async |after| scheduled::list(&apps.app, me.user(), after, LIMIT).await.expect("a page");
    found.push(("scheduled posts", walk(scheduled).await));
    let timers = async |after: Option<_>| {
        let page = timers::list(&apps.app, me.user(), after.as_ref(), LIMIT).await;
        page.expect("a page")
    };
    found.push(("timers", walk(timers).await));
    let boards = settings::list(&apps.app, me.user()).await.expect("a list");
    found.push(("boards", listed(&boards)));
    let board = BoardRef { owner: me.user(), name: "board 0".parse().expect("a name"), day: None };
    let best = PageOf::Rank { from: 1, limit: 100 };
    let members = made(apps, now, async || read::page(&apps.app, &board, best, now).await).await;
    let members = members.page;
    found.push(("members of a board", (members.rows.len(), format!("{members:#?}"))));
    for feed in FeedId::own(me.user()) {
        let page = async |before: Option<PostId>| {
            let span = Span { before: before.unwrap_or(PostId::MAX), ..Span::ALL };
            let page = home::pulled_page(&apps.app, &viewer, feed, span, LIMIT, now).await;
            let page = page.expect("a page");
            Page { items: page.ids().collect(), next: page.next_before }
        };
        found.push(("a feed", walk(page).await));
    }
    let ranking = async || {
        let app = &apps.app;
        rankings::page(app, &viewer, Ranking::Authors, None, 100, &reading()).await
    };
    let ranking = made(apps, now, ranking).await.entries;
    found.push(("a ranking", listed(&ranking)));
    let receipt = posts::delivery(&apps.app, &me, post).await.expect("a receipt");
    found.push(("a receipt", listed(&[receipt])));
    found
}

#[test]
fn no_list_ends_where_a_query_ended() {
    let server = Server::start();
    runtime().block_on(async {
        fastrand::seed(3);
        let apps = Apps::on(&server, &[], RetryConfig::disabled(), true);
        apps.valkey.reset();
        apps.steps.set_free(true);
        apps.cloud.lock().capacity = None;
        let short_pages = |seed| Faults { one_in: 1, dice: Dice(seed) };
        apps.cloud.lock().short_pages = short_pages(99);
        let (me, mut now) = (identity(ME), START);
        let tick = |now: &mut Time| {
            *now += Duration::from_millis(1);
            *now
        };
        let others: Vec<String> = (0..OTHERS).map(other).collect();
        for name in others.iter().map(String::as_str).chain([ME]) {
            let put = people::put_profile;
            put(&apps.app, &identity(name), name, name, tick(&mut now)).await.expect("put");
        }
        handle_all(&apps, now).await;
        let mut own = Vec::new();
        for (n, other) in others.iter().enumerate() {
            for (user, author) in [(other.as_str(), ME), (ME, other.as_str())] {
                let (user, author) = (identity(user), UserRef::Id(id(author)));
                let (relate, following) = (follows::relate, Relation::Following);
                relate(&apps.app, &user, &author, following, tick(&mut now))
                    .await
                    .expect("followed");
            }
            let publish = posts::publish;
            let mine = publish(&apps.app, &me, "mine", None, tick(&mut now)).await;
            own.push(mine.expect("published").post.id);
            let theirs = identity(other);
            let theirs = publish(&apps.app, &theirs, "theirs", None, tick(&mut now)).await;
            let theirs = theirs.expect("published").post.id;
            for (user, post) in [(&me, theirs), (&identity(other), own[0])] {
                marks::put(&apps.app, user, MarkKind::Like, post, true, tick(&mut now))
                    .await
                    .expect("liked");
            }
            let due_at = now + Duration::from_secs(86_400);
            let new = NewScheduled { post: "later".into(), publish_at: due_at, key: Some(other) };
            scheduled::schedule(&apps.app, &me, new, now).await.expect("scheduled");
            let new = NewTimer { due_at, every: None, payload: json!(n) };
            let name = format!("timer-{n:02}").parse().expect("a name");
            timers::put(&apps.app, &me, &name, new, now).await.expect("put");
            let all = board_settings(json!({}));
            let name = format!("board {n}").parse().expect("a name");
            settings::put(&apps.app, &me, &name, all, tick(&mut now)).await.expect("a board");
        }
        let name = "board 0".parse().expect("a name");
        let board = BoardRef { owner: me.user(), name, day: None };
        let change_of = |n: usize| ScoreChange {
            member: format!("member {n}").parse().expect("a name"),
            what: What::Set(Scores::new(&[n as i64]).expect("scores")),
        };
        let changes: Vec<ScoreChange> = (0..60).map(change_of).collect();
        change(&apps.app, &me, &board, &changes, None, tick(&mut now)).await.expect("changed");
        handle_all(&apps, now).await;

        apps.cloud.lock().short_pages = Faults::default();
        let reading = ReadContext::new(now);
        let viewer = Viewer::of(me.user());
        let shown = posts::read(&apps.app, &viewer, own[0], now).await.expect("a post");
        assert_eq!(shown.post.likes, OTHERS as u64);
        let users = &apps.app;
        let shown = present::user(users, &viewer, &UserRef::Id(me.user()), &reading).await;
        assert_eq!(shown.expect("a user").followers, OTHERS as u64);
        let whole = lists(&apps, own[0], now).await;
        let counts: Vec<usize> = whole.iter().map(|(_, (count, _))| *count).collect();
        assert_eq!(counts, [12, 12, 12, 12, 12, 12, 12, 60, 12, 24, 13, 1], "of {OTHERS} users");
        for seed in 0..20 {
            apps.cloud.lock().short_pages = short_pages(seed);
            for ((name, found), (_, whole)) in lists(&apps, own[0], now).await.iter().zip(&whole) {
                assert!(found == whole, "{name}, seed {seed}: {found:?}\ninstead of {whole:?}");
            }
        }
        for step in 0.. {
            assert!(step < 20, "the user is not erased");
            let order = AdminOrder::DropUser { user: me.user().to_string() };
            let erased = admin::execute(&apps.admin, order, now, Deadline::NONE).await;
            let erased = erased.expect("erased");
            if erased["done"] == true {
                break;
            }
            handle_all(&apps, now).await;
            now += Duration::from_millis(erased["wait_ms"].as_u64().expect("a time") + 1);
        }
        handle_all(&apps, now).await;
        apps.cloud.lock().short_pages = Faults::default();
        let me = me.user().to_string();
        for table in ["users", "posts", "graph", "due", "marks", "boards"] {
            let cloud = apps.cloud.lock();
            let left = cloud.items(table).filter(|item| !item.contains_key("expires_at"));
            let left: Vec<_> = left.filter(|item| json!(item).to_string().contains(&me)).collect();
            assert!(left.is_empty(), "{table}: {left:#?}");
        }
    });
}
