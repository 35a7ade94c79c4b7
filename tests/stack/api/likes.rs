//! Likes of posts.

use std::time::Duration;

use fanfold_core::{PostId, Time};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::harness::client::Client;

/// Reads a post until it has this number of likes.
async fn counted(client: &Client, path: &str, likes: u64) -> Value {
    let begun = Instant::now();
    loop {
        let post = client.get(path).await;
        assert_eq!(post.status, 200);
        if post.body["like_count"] == likes {
            return post.body;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{} has not {likes} likes", post.body);
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_like_is_given_listed_and_taken_back() {
    let (author, fan, other) = (Client::new().await, Client::new().await, Client::new().await);
    let id = author.publish("text").await;
    let (path, like) = (format!("/v1/posts/{id}"), format!("/v1/posts/{id}/like"));
    let put = async |client: &Client| client.send(Method::PUT, &like, &[], None).await.status;
    let shown = author.get(&path).await.body;
    assert_eq!((&shown["like_count"], &shown["liked"]), (&json!(0), &json!(false)));
    for _ in 0..2 {
        assert_eq!(put(&fan).await, 204);
    }
    assert_eq!(fan.get(&path).await.body["liked"], true, "at once");
    assert_eq!(put(&other).await, 204);
    assert_eq!(counted(&author, &path, 2).await["liked"], false);
    // pages show the same
    let page = fan.get(&format!("/v1/users/{}/posts", author.id)).await;
    assert_eq!(
        (&page.body["items"][0]["liked"], &page.body["items"][0]["like_count"]),
        (&json!(true), &json!(2))
    );
    // who, newest first, with the relation of the viewer
    assert_eq!(
        author.send(Method::PUT, &format!("/v1/users/{}/follow", fan.id), &[], None).await.status,
        204
    );
    let likers = format!("/v1/posts/{id}/likes");
    let page = author.get(&likers).await;
    assert_eq!(page.ids(), [other.id.clone(), fan.id.clone()]);
    assert_eq!(page.body["items"][1]["you_follow"], true);
    assert_eq!(author.walk(&likers, 1).await, [other.id.clone(), fan.id.clone()]);
    // what, newest first
    let second = author.publish("second").await;
    assert_eq!(
        fan.send(Method::PUT, &format!("/v1/posts/{second}/like"), &[], None).await.status,
        204
    );
    assert_eq!(fan.walk("/v1/likes", 1).await, [second.clone(), id.clone()]);
    assert_eq!(author.get("/v1/likes").await.ids(), Vec::<String>::new());
    for _ in 0..2 {
        assert_eq!(fan.delete(&like).await.status, 204);
    }
    assert_eq!(counted(&fan, &path, 1).await["liked"], false);
    assert_eq!(fan.walk("/v1/likes", 10).await, [second]);
    // the likes of a deleted post go with it
    assert_eq!(author.delete(&path).await.status, 204);
    assert_eq!(put(&fan).await, 404);
    assert_eq!(fan.delete(&like).await.status, 404);
    assert_eq!(fan.get(&likers).await.problem(), (404, "/problems/no-such-post"));
    let begun = Instant::now();
    while !other.get("/v1/likes").await.ids().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "a like of a deleted post is listed");
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn likes_of_what_is_not_there_are_refused() {
    let (user, newcomer) = (Client::new().await, Client::signed_in().await);
    let post = user.publish("text").await;
    let never = PostId::new(Time::from_ms(1), 1, user.id.parse().expect("an id"));
    let put = async |client: &Client, post: &str| {
        client.send(Method::PUT, &format!("/v1/posts/{post}/like"), &[], None).await
    };
    let unknown = put(&user, &never.to_string()).await;
    assert_eq!(unknown.problem(), (404, "/problems/no-such-post"));
    let profileless = put(&newcomer, &post).await;
    assert_eq!(profileless.problem(), (409, "/problems/profile-missing"));
    assert_eq!(put(&user, "x").await.problem(), (400, "/problems/invalid-id"));
    let unlike = user.delete(&format!("/v1/posts/{never}/like")).await;
    assert_eq!(unlike.problem(), (404, "/problems/no-such-post"));
    let cursor = user.get(&format!("/v1/likes?cursor={}", "A".repeat(51))).await;
    assert_eq!(cursor.problem(), (404, "/problems/invalid-cursor"));
}
