//! Rankings of posts and authors.

use std::time::Duration;

use fanfold_core::{List, Ranking, Time};
use fanfold_kinds::rankings::PlacesOf;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::harness::client::{Answer, Client};

/// The ids of the posts or authors on a page.
fn ids(page: &Answer) -> Vec<String> {
    let of = |item: &Value| match (&item["post"], &item["user"]) {
        (post, Value::Null) => post["id"].as_str().expect("a post").to_owned(),
        (Value::Null, user) => user["id"].as_str().expect("a user").to_owned(),
        _ => panic!("{item}"),
    };
    page.body["items"].as_array().expect("items").iter().map(of).collect()
}

/// All pages of a ranking, each full or the last one, with ranks that grow and likes that fall.
async fn walk(client: &Client, ranking: &str, limit: usize) -> Vec<String> {
    let (mut found, mut cursor, mut last) = (Vec::new(), String::new(), (0, u64::MAX));
    loop {
        let page = client.get(&format!("/v1/rankings/{ranking}?limit={limit}{cursor}")).await;
        assert_eq!(page.status, 200, "{page:?}");
        for item in page.body["items"].as_array().expect("items") {
            let (rank, likes) = (item["rank"].as_u64().expect("a rank"), item["likes"].as_u64());
            let likes = likes.expect("likes");
            assert!(rank > last.0 && likes <= last.1 && likes > 0, "{item} after {last:?}");
            last = (rank, likes);
        }
        found.extend(ids(&page));
        match page.body["next_cursor"].as_str() {
            None => return found,
            Some(next) => {
                assert_eq!(ids(&page).len(), limit, "full or the last");
                cursor = format!("&cursor={next}");
            }
        }
    }
}

/// Reads a ranking until it has, or lacks, what is wanted.
async fn wait_for(client: &Client, ranking: &str, has: impl Fn(&[String]) -> bool) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let found = walk(client, ranking, 100).await;
        if has(&found) {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "{ranking}: {found:?}");
        sleep(Duration::from_millis(500)).await;
    }
}

/// Other tests of the deployed stack like posts, too, so only the order of these is known.
#[tokio::test]
async fn posts_and_authors_are_ranked_by_likes() {
    let (author, second, fan) = (Client::new().await, Client::new().await, Client::new().await);
    let (two, one, none) = (
        author.publish("two likes").await,
        second.publish("one like").await,
        author.publish("no like").await,
    );
    for (client, post) in [(&second, &two), (&fan, &two), (&fan, &one)] {
        assert_eq!(client.put(&format!("/v1/posts/{post}/like")).await.status, 204);
    }
    let place = |list: &[String], id: &str| list.iter().position(|found| found == id);
    for (ranking, first, last) in
        [("posts-day", &two, &one), ("posts-week", &two, &one), ("authors", &author.id, &second.id)]
    {
        // a count may be late, so that the order is right only then
        let found = wait_for(&fan, ranking, |list| {
            let places = (place(list, first), place(list, last));
            matches!(places, (Some(first), Some(last)) if first < last)
        });
        assert!(!found.await.contains(&none));
        let pages = walk(&fan, ranking, 1).await;
        assert!(place(&pages, first) < place(&pages, last), "{pages:?}");
    }
    // what the reader sees of a post and of an author
    let page = fan.get("/v1/rankings/posts-day?limit=100").await;
    let shown = page.body["items"].as_array().expect("items");
    let item = shown.iter().find(|item| item["post"]["id"] == two).expect("the post");
    assert_eq!((&item["post"]["liked"], &item["user"]), (&json!(true), &Value::Null));
    assert_eq!((&item["likes"], &item["post"]["like_count"]), (&json!(2), &json!(2)));
    assert!(page.text("/made_at").ends_with(".000Z"), "{page:?}");
    assert_eq!(author.delete(&format!("/v1/posts/{two}")).await.status, 204);
    assert!(!walk(&fan, "posts-day", 100).await.contains(&two), "a deleted post is ranked");
    wait_for(&fan, "authors", |list| !list.contains(&author.id)).await;
}

#[tokio::test]
async fn what_is_no_ranking_is_refused() {
    let user = Client::new().await;
    for name in ["posts", "posts-month", "Authors", "posts-day%00", "%2e%2e"] {
        let answer = user.get(&format!("/v1/rankings/{name}")).await;
        assert!([400, 404].contains(&answer.status), "{name}: {answer:?}");
    }
    for query in ["limit=0", "limit=101", "limit=x", "cursor=x", "owner=1", "limit=1&limit=2"] {
        let answer = user.get(&format!("/v1/rankings/authors?{query}")).await;
        assert_eq!(answer.problem(), (400, "/problems/invalid-parameter"), "{query}");
    }
    // a cursor of another ranking
    let at = Time::from_ms(1);
    let cursor = |ranking, place| PlacesOf(ranking).cursor(&(at, place));
    let foreign = cursor(Ranking::PostsDay, 1);
    let answer = user.get(&format!("/v1/rankings/authors?cursor={foreign}")).await;
    assert_eq!(answer.problem(), (404, "/problems/invalid-cursor"));
    // forged places lead to the end of the list, and no further
    for place in [500, u64::MAX - 1, u64::MAX] {
        let forged = cursor(Ranking::Authors, place);
        let answer = user.get(&format!("/v1/rankings/authors?cursor={forged}")).await;
        assert_eq!((answer.status, ids(&answer).len()), (200, 0), "{answer:?}");
        assert_eq!(answer.body["next_cursor"], Value::Null);
    }
}
