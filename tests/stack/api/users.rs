//! Profiles, handles, relations and lists of users.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::{Answer, Client};
use crate::harness::eventually;

async fn put_me(client: &Client, handle: &str, name: &str) -> Answer {
    client.send(Method::PUT, "/v1/me", &[], Some(json!({"handle": handle, "name": name}))).await
}

#[tokio::test]
async fn a_profile_is_created_changed_and_found_by_id_and_handle() {
    let user = Client::new().await;
    let new_handle = format!("{}x", user.handle);
    let changed = put_me(&user, &new_handle, "  New Name ").await;
    let own = user.send(Method::GET, "/v1/me", &[], None).await;
    assert_eq!((own.status, &own.body), (200, &changed.body));
    assert_eq!((changed.status, changed.text("/name").as_str()), (200, "New Name"));
    for path in [format!("/v1/users/{}", user.id), format!("/v1/users/@{new_handle}")] {
        let found = user.get(&path).await;
        assert_eq!((found.status, found.text("/id")), (200, user.id.clone()));
        assert_eq!(found.body["posts"], Value::from(0));
    }
    let gone = user.get(&format!("/v1/users/@{}", user.handle)).await;
    assert_eq!(gone.problem(), (404, "/problems/no-such-user"));
    // the old handle is free again
    let other = Client::signed_in().await;
    assert_eq!(put_me(&other, &user.handle, "Other").await.status, 201);
}

#[tokio::test]
async fn a_handle_belongs_to_one_user() {
    let (first, second) = (Client::new().await, Client::signed_in().await);
    let taken = put_me(&second, &first.handle, "Second").await;
    assert_eq!(taken.problem(), (409, "/problems/handle-taken"));
    for bad in ["", "Ash", "a b", "ash-1", &"a".repeat(31)] {
        let refused = put_me(&second, bad, "Second").await;
        assert_eq!(refused.problem(), (422, "/problems/invalid-text"), "{bad}");
    }
    // one of many concurrent requests gets the handle
    let users: Vec<Client> = futures::future::join_all((0..6).map(|_| Client::signed_in())).await;
    let handle = format!("{}_race", first.handle);
    let put = users.iter().map(|user| put_me(user, &handle, "Racer"));
    let statuses: Vec<u16> =
        futures::future::join_all(put).await.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 5, "{statuses:?}");
}

#[tokio::test]
async fn following_is_idempotent_and_counted() {
    let (reader, author) = (Client::new().await, Client::new().await);
    let follow = format!("/v1/users/@{}/follow", author.handle);
    for _ in 0..2 {
        assert_eq!(reader.put(&follow).await.status, 204);
    }
    let profile = format!("/v1/users/{}", author.id);
    assert_eq!(reader.get(&profile).await.body["you_follow"], true);
    assert_eq!(author.get(&profile).await.body["you_follow"], false);
    wait_for_followers(&author, 1).await;
    let list = reader.get(&format!("/v1/users/{}/following", reader.id)).await;
    assert_eq!(list.body["items"][0]["you_follow"], true, "{list:?}");
    assert_eq!(
        reader.walk(&format!("/v1/users/{}/followers", author.id), 5).await,
        [reader.id.as_str()]
    );
    assert_eq!(
        reader.walk(&format!("/v1/users/{}/following", reader.id), 5).await,
        [author.id.as_str()]
    );
    for _ in 0..2 {
        assert_eq!(reader.delete(&follow).await.status, 204);
    }
    assert_eq!(reader.get(&profile).await.body["you_follow"], false);
    wait_for_followers(&author, 0).await;
    assert!(reader.walk(&format!("/v1/users/{}/followers", author.id), 5).await.is_empty());
    assert!(reader.walk(&format!("/v1/users/{}/following", reader.id), 5).await.is_empty());
}

#[tokio::test]
async fn following_oneself_or_an_unknown_user_is_refused() {
    let (user, stranger) = (Client::new().await, Client::signed_in().await);
    let me = user.put(&format!("/v1/users/{}/follow", user.id)).await;
    assert_eq!(me.problem(), (422, "/problems/follow-self"));
    let me = user.delete(&format!("/v1/users/@{}/follow", user.handle)).await;
    assert_eq!(me.problem(), (422, "/problems/follow-self"));
    let nobody = user.put("/v1/users/0123456789abcdef/follow").await;
    assert_eq!(nobody.problem(), (404, "/problems/no-such-user"));
    let nobody = user.delete("/v1/users/@no_such_handle_here/follow").await;
    assert_eq!(nobody.problem(), (404, "/problems/no-such-user"));
    let early = stranger.put(&format!("/v1/users/{}/follow", user.id)).await;
    assert_eq!(early.problem(), (409, "/problems/profile-missing"));
}

#[tokio::test]
async fn lists_of_users_have_pages_to_the_end() {
    let author = Client::new().await;
    let readers: Vec<Client> = futures::future::join_all((0..7).map(|_| Client::new())).await;
    let follow = format!("/v1/users/{}/follow", author.id);
    // concurrent follows are all counted
    let followed =
        futures::future::join_all(readers.iter().map(|reader| reader.put(&follow))).await;
    assert!(followed.iter().all(|answer| answer.status == 204), "{followed:?}");
    let mut expected: Vec<String> = readers.iter().map(|reader| reader.id.clone()).collect();
    expected.sort();
    for limit in [1, 3, 7, 100] {
        let mut walked = author.walk(&format!("/v1/users/{}/followers", author.id), limit).await;
        walked.sort();
        assert_eq!(walked, expected, "limit {limit}");
    }
    wait_for_followers(&author, 7).await;
}

/// Waits until the author's profile has this number of followers, which are counted a moment after a change.
pub async fn wait_for_followers(author: &Client, followers: usize) {
    let path = format!("/v1/users/{}", author.id);
    eventually("the number of followers", async || {
        let profile = author.get(&path).await;
        (profile.body["followers"] == followers).then_some(())
    })
    .await;
}
