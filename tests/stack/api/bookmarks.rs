//! Bookmarks of posts.

use serde_json::json;

use crate::harness::client::Client;

#[tokio::test]
async fn a_bookmark_is_put_listed_and_removed_and_nobody_else_sees_it() {
    let (author, reader, other) = (Client::new().await, Client::new().await, Client::new().await);
    let [one, two] = [author.publish("one").await, author.publish("two").await];
    let path = |post: &str| format!("/v1/posts/{post}");
    let bookmark = |post: &str| format!("/v1/posts/{post}/bookmark");
    for post in [&two, &one, &one] {
        assert_eq!(reader.put(&bookmark(post)).await.status, 204);
    }
    // at once, on the post and on pages
    assert_eq!(reader.get(&path(&one)).await.body["bookmarked"], true);
    let page = reader.get(&format!("/v1/users/{}/posts", author.id)).await.body;
    assert_eq!(page["items"][0]["bookmarked"], true);
    assert_eq!(reader.walk("/v1/bookmarks", 1).await, [one.clone(), two.clone()]);
    // a bookmark is not a like, and others do not see it
    for client in [&author, &other] {
        let seen = client.get(&path(&one)).await.body;
        assert_eq!((&seen["bookmarked"], &seen["like_count"]), (&json!(false), &json!(0)));
        assert_eq!(client.get("/v1/bookmarks").await.ids(), Vec::<String>::new());
    }
    assert_eq!(reader.get(&path(&one)).await.body["liked"], false);
    for _ in 0..2 {
        assert_eq!(reader.delete(&bookmark(&one)).await.status, 204);
    }
    assert_eq!(reader.get(&path(&one)).await.body["bookmarked"], false);
    assert_eq!(reader.walk("/v1/bookmarks", 10).await, std::slice::from_ref(&two));
    // a post that is gone is not listed, and cannot be bookmarked
    assert_eq!(author.delete(&path(&two)).await.status, 204);
    assert_eq!(reader.get("/v1/bookmarks").await.ids(), Vec::<String>::new());
    assert_eq!(other.put(&bookmark(&two)).await.problem(), (404, "/problems/no-such-post"));
}

#[tokio::test]
async fn a_user_without_a_profile_has_no_bookmarks() {
    let (author, stranger) = (Client::new().await, Client::signed_in().await);
    let post = author.publish("text").await;
    let refused = stranger.put(&format!("/v1/posts/{post}/bookmark")).await;
    assert_eq!(refused.problem(), (409, "/problems/profile-missing"));
    assert_eq!(stranger.get("/v1/bookmarks").await.ids(), Vec::<String>::new());
}
