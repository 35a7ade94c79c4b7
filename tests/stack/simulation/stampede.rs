//! All readers return at once, and Valkey has lost all data.

use std::rc::Rc;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::limits::CONCURRENCY;
use fanfold_core::{FeedId, PostId, Relation, UserRef};
use fanfold_engines::feed::PostSource as _;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::home::Span;
use fanfold_kinds::people::items::ProfilePut;
use fanfold_runtime::sqs::Announced;

use super::apps::{Apps, POSTS, START, USERS, id, identity};
use super::server::Server;
use super::tasks::{Task, runtime, settle};
use crate::harness::dice::Dice;
use crate::harness::world::page;

const READERS: usize = 60;
const AUTHORS: usize = 20;

/// All readers read the heads of their authors. No author's posts are queried, and a reader with many windows is rebuilt once.
#[test]
fn a_stampede_reads_heads() {
    let (queries, heads) = stampede(false);
    // each reader's feed is read by one window; the others wait, and then find it
    println!(
        "{READERS} readers of {AUTHORS} authors returned at once: {queries} queries, {heads} heads"
    );
    assert_eq!(queries, 0);
    assert!(heads < (READERS + 10) * (AUTHORS + 1), "{heads} heads");
}

/// The posts of authors with very many followers are queried a few times: the number of queries does not grow with the number
/// of readers.
#[test]
fn a_stampede_queries_the_posts_of_hot_authors_a_few_times() {
    let (queries, heads) = stampede(true);
    println!(
        "{READERS} readers of {AUTHORS} authors returned at once: {queries} queries, {heads} heads"
    );
    assert!(queries < READERS + 3 * AUTHORS + CONCURRENCY, "{queries} queries");
    // readers who find that another one rebuilds an author feed may give up waiting
    assert!(heads < READERS * AUTHORS / 2, "{heads} heads");
}

/// Returns the numbers of queries for authors' posts, and of heads that were read.
fn stampede(is_hot: bool) -> (usize, usize) {
    let server = Server::start();
    runtime().block_on(async {
        // the small feeds of simulations end within a page
        let settings = [("FEED_CAP", "120".to_owned())];
        let apps = Rc::new(Apps::with(&server, &settings, RetryConfig::disabled()));
        let (readers, authors) = (names("reader", READERS), names("author", AUTHORS));
        fill(&apps, &readers, &authors).await;
        let mut apps = Rc::into_inner(apps).expect("the only reference");
        apps.app.settings.inline_authors = 64;
        apps.app.settings.hot_followers = if is_hot { 0 } else { u64::MAX };
        if is_hot {
            // the environment has met the authors, and no reader
            let authors: Vec<_> = authors.iter().map(|author| id(author)).collect();
            let reading = ReadContext::new(START + Duration::from_secs(100));
            apps.app.newest(&authors, PostId::MAX, None, &reading).await.expect("read");
            apps.app.settings.hot_followers = u64::MAX;
        }
        apps.valkey.flush();
        apps.cloud.lock().queries.clear();
        let units = |apps: &Apps| apps.cloud.lock().capacity.clone().expect("limits");
        let of_heads = |apps: &Apps| -> f64 {
            let key = |author: &String| format!("{USERS} user#{}", id(author));
            authors.iter().map(|author| units(apps).read_units(&key(author))).sum()
        };
        let before = of_heads(&apps);
        let apps = Rc::new(apps);
        apps.steps.set_free(false);
        let mut tasks: Vec<Task<usize>> = Vec::new();
        for (number, reader) in readers.iter().chain([&readers[0]; 10]).enumerate() {
            let (apps, feed) = (apps.clone(), FeedId::home(id(reader)));
            let read = Box::pin(async move {
                let page =
                    page(&apps.app, feed, Span::ALL, 50, START + Duration::from_secs(100)).await;
                page.expect("a page").posts.len()
            });
            tasks.push(Task::new(number, read));
        }
        let (mut dice, mut shown) = (Dice(7), Vec::new());
        while shown.len() < READERS + 10 {
            shown.extend(settle(&mut tasks, &apps.steps));
            match apps.steps.waiting().len() {
                0 => tokio::time::advance(Duration::from_millis(5)).await,
                waiting => apps.steps.grant(dice.below(waiting as u64) as usize),
            }
        }
        assert!(shown.iter().all(|(_, posts)| *posts == AUTHORS), "{shown:?}");
        let queries = apps.cloud.lock().queries.get(POSTS).copied().unwrap_or_default();
        // the cards of the authors are few
        (queries, (of_heads(&apps) - before) as usize)
    })
}

fn names(kind: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{kind}{n}")).collect()
}

async fn fill(apps: &Apps, readers: &[String], authors: &[String]) {
    apps.steps.set_free(true);
    let now = START;
    for name in readers.iter().chain(authors) {
        let put = apps
            .app
            .users
            .put_profile(
                Announced::assumed(),
                &identity(name),
                &name.parse().expect("a handle"),
                name,
            )
            .await;
        assert!(matches!(put, Ok(ProfilePut::Created(_))), "{put:?}");
    }
    for author in authors {
        let publish = fanfold_kinds::posts::publish;
        publish(&apps.app, &identity(author), "text", None, now).await.expect("a post");
        for reader in readers {
            let (reader, author) = (identity(reader), UserRef::Id(id(author)));
            let relate = fanfold_kinds::follows::relate;
            relate(&apps.app, &reader, &author, Relation::Following, now)
                .await
                .expect("a relation");
        }
    }
}
