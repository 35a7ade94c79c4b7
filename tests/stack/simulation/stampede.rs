//! Everyone returns at once, to a Valkey that has lost everything.

use std::rc::Rc;
use std::time::Duration;

use fanfold_core::Relation;
use fanfold_core::limits::CONCURRENCY;
use fanfold_store::dynamo::users::ProfilePut;
use fanfold_store::feeds::Span;
use fanfold_store::http::UserRef;
use fanfold_store::valkey::Feed;

use super::apps::{Apps, id, identity};
use super::server::Server;
use super::tasks::{Task, runtime, settle};
use crate::harness::dice::Dice;

const READERS: usize = 60;
const AUTHORS: usize = 20;

/// However many read, each author's posts are asked for a few times, not once for each reader; and
/// a reader with many windows is rebuilt once.
#[test]
fn a_stampede_asks_for_each_authors_posts_a_few_times() {
    let server = Server::start();
    runtime().block_on(async {
        let apps = Rc::new(Apps::new(&server));
        let (readers, authors) = (names("reader", READERS), names("author", AUTHORS));
        fill(&apps, &readers, &authors).await;
        apps.valkey.flush();
        apps.cloud.lock().queries = 0;
        let mut apps = Rc::into_inner(apps).expect("nobody else has them");
        apps.timeline.feeds.inline_authors = 64;
        let apps = Rc::new(apps);
        apps.steps.set_free(false);
        let mut tasks: Vec<Task<usize>> = Vec::new();
        for (number, reader) in readers.iter().chain([&readers[0]; 10]).enumerate() {
            let (apps, feed) = (apps.clone(), Feed::home(id(reader)));
            let read = Box::pin(async move {
                let page = apps.timeline.feeds.page(feed, Span::ALL, 50, 1_800_000_100_000).await;
                page.expect("a page").posts.len()
            });
            tasks.push(Task::new(number, reader.clone(), read));
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
        // one query for each reader's relations, and the authors' posts
        let queries = apps.cloud.lock().queries as usize;
        let authors_asked = queries - READERS;
        println!(
            "{READERS} readers of {AUTHORS} authors returned at once: {authors_asked} queries of authors' \
             posts, where {} would be made without the cache",
            (READERS + 10) * (AUTHORS + 1)
        );
        assert!(authors_asked < READERS + 3 * AUTHORS + CONCURRENCY, "{authors_asked} queries");
    });
}

fn names(kind: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{kind}{n}")).collect()
}

async fn fill(apps: &Apps, readers: &[String], authors: &[String]) {
    apps.steps.set_free(true);
    let now = 1_800_000_000_000;
    for name in readers.iter().chain(authors) {
        let put = apps.users.users.put_profile(&identity(name), name, name).await;
        assert!(matches!(put, Ok(ProfilePut::Created(_))), "{put:?}");
    }
    for author in authors {
        let publish = fanfold_posts::handler::publish;
        publish(&apps.posts, &identity(author), "text", None, now).await.expect("a post");
        for reader in readers {
            let (reader, author) = (identity(reader), UserRef::Id(id(author)));
            let relate = fanfold_users::handler::relate;
            relate(&apps.users, &reader, &author, Relation::Following, now).await.expect("related");
        }
    }
}
