//! Limits on the load that one user can cause.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use fanfold_core::limits::{FOLLOWING_MAX, PAGE_ITEMS_MAX};
use fanfold_core::{Relation, UserRef};
use fanfold_kinds::follows;
use fanfold_web::{Problem, ProblemKind};
use reqwest::Method;
use serde_json::json;

use crate::harness::client::Client;
use crate::harness::world::World;

#[tokio::test]
async fn the_length_of_a_page_is_bounded() {
    let user = Client::new().await;
    for list in ["/v1/timeline".to_owned(), format!("/v1/users/{}/followers", user.id)] {
        let most = user.get(&format!("{list}?limit={PAGE_ITEMS_MAX}")).await;
        assert_eq!(most.status, 200);
        for more in ["101", "1000000", "18446744073709551615", "99999999999999999999999", "-1"] {
            let answer = user.get(&format!("{list}?limit={more}")).await;
            assert_eq!(answer.problem(), (400, "/problems/invalid-parameter"), "{more}");
        }
    }
}

#[tokio::test]
async fn the_length_of_texts_and_names_is_bounded() {
    let user = Client::new().await;
    let refused = (422, "/problems/invalid-text");
    assert_eq!(user.post(&"é".repeat(500)).await.status, 201);
    assert_eq!(user.post(&"é".repeat(501)).await.problem(), refused);
    // many bytes, but few characters
    assert_eq!(user.post(&"a\u{301}\u{302}\u{303}".repeat(499)).await.status, 201);
    assert_eq!(user.post(&"👩🏽\u{200d}👩🏽".repeat(300)).await.problem(), refused);
    for name in ["n".repeat(51), "👩🏽\u{200d}👩🏽".repeat(25)] {
        let profile = json!({"handle": user.handle, "name": name});
        let answer = user.send(reqwest::Method::PUT, "/v1/me", &[], Some(profile)).await;
        assert_eq!(answer.problem(), refused);
    }
}

#[tokio::test]
async fn boards_and_their_members_are_limited() {
    let owner = Client::new().await;
    let put = async |path: &str| owner.send(Method::PUT, path, &[], Some(json!({}))).await;
    for nth in 0..100 {
        assert_eq!(put(&format!("/v1/leaderboards/b{nth}")).await.status, 201);
    }
    let refused = put("/v1/leaderboards/more").await;
    assert_eq!(refused.problem(), (422, "/problems/boards-limit"));
    let change = |nth: usize| json!({"member": format!("m{nth}"), "set": ["1"]});
    let changes: Vec<_> = (0..101).map(change).collect();
    let changes = Some(json!({"changes": changes}));
    let path = "/v1/leaderboards/b0/members";
    let refused = owner.send(Method::POST, path, &[], changes).await;
    assert_eq!(refused.problem(), (422, "/problems/invalid-scores"));
}

/// Changes of a profile in a minute, as the stack under test has it.
const BUDGET: u32 = 300;

#[tokio::test]
async fn the_writes_of_a_user_are_limited() {
    let (busy, other) = (Client::new().await, Client::new().await);
    let profile = json!({"handle": busy.handle, "name": "Busy"});
    let put = async |profile| busy.send(reqwest::Method::PUT, "/v1/me", &[], Some(profile)).await;
    let (mut accepted, begun) = (0, Instant::now());
    let refused = loop {
        let answer = put(profile.clone()).await;
        if answer.status != 200 {
            break answer;
        }
        accepted += 1;
        // a minute's budget, which refills while a slow machine writes
        let budget = f64::from(BUDGET) * (1.1 + begun.elapsed().as_secs_f64() / 60.0);
        assert!(f64::from(accepted) < budget, "{accepted} writes are not limited");
    };
    assert_eq!(refused.problem(), (429, "/problems/too-many-writes"));
    let after: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&after) && accepted >= 50, "{accepted} writes, {after} s");
    // other writes and other users are not affected
    assert_eq!(busy.post("a post").await.status, 201);
    let profile = json!({"handle": other.handle, "name": "Other"});
    let answer = other.send(reqwest::Method::PUT, "/v1/me", &[], Some(profile)).await;
    assert_eq!(answer.status, 200);
    tokio::time::sleep(Duration::from_secs(after)).await;
    assert_eq!(put(json!({"handle": busy.handle, "name": "Back"})).await.status, 200);
}

/// A rebuild reads the posts of every followed author, so their number is limited.
#[tokio::test]
async fn the_number_of_followed_users_is_limited() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("ash", "cedar").await;
    let set = async |following: u64| {
        let number = AttributeValue::N(following.to_string());
        let pk = AttributeValue::S(format!("user#{}", world.id("ash")));
        let update = aws_sdk_dynamodb::Client::new(&world.sdk)
            .update_item()
            .table_name(world.config.text("USERS_TABLE").expect("a table"))
            .key("pk", pk)
            .update_expression("SET following = :n")
            .expression_attribute_values(":n", number);
        update.send().await.expect("set");
    };
    let relate = async |author: &str, relation: Relation| {
        let (me, author) = (world.identity("ash"), UserRef::Id(world.id(author)));
        follows::relate(&world.app, &me, &author, relation, world.now()).await
    };
    set(FOLLOWING_MAX).await;
    let refused = relate("birch", Relation::Following).await.expect_err("one too many");
    assert_eq!(Problem::from(refused).kind, ProblemKind::FollowingLimit);
    // a repeated follow is allowed, and a follow below the limit, too
    relate("cedar", Relation::Following).await.expect("followed already");
    set(FOLLOWING_MAX - 1).await;
    relate("birch", Relation::Following).await.expect("the last one");
}
