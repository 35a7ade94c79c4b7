//! What one user can make the others pay for.

use fanfold_core::Relation;
use fanfold_core::limits::{FOLLOWING_MAX, PAGE_ITEMS_MAX};
use fanfold_store::http::{Kind, UserRef};
use serde_json::json;

use crate::harness::client::Client;
use crate::harness::world::World;

#[tokio::test]
async fn a_page_has_its_bound() {
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
async fn a_text_and_a_name_have_their_bounds() {
    let user = Client::new().await;
    let refused = (422, "/problems/invalid-text");
    assert_eq!(user.post(&"é".repeat(500)).await.status, 201);
    assert_eq!(user.post(&"é".repeat(501)).await.problem(), refused);
    // bytes that are few characters
    assert_eq!(user.post(&"a\u{301}\u{302}\u{303}".repeat(499)).await.status, 201);
    assert_eq!(user.post(&"👩🏽\u{200d}👩🏽".repeat(300)).await.problem(), refused);
    for name in ["n".repeat(51), "👩🏽\u{200d}👩🏽".repeat(25)] {
        let profile = json!({"handle": user.handle, "name": name});
        let answer = user.send(reqwest::Method::PUT, "/v1/me", &[], Some(profile)).await;
        assert_eq!(answer.problem(), refused);
    }
}

/// A rebuild asks each author whom its reader follows.
#[tokio::test]
async fn a_user_follows_so_many_and_no_more() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("ash", "cedar").await;
    let set = async |following: u64| {
        let number = aws_sdk_dynamodb::types::AttributeValue::N(following.to_string());
        let pk = aws_sdk_dynamodb::types::AttributeValue::S(format!("user#{}", world.id("ash")));
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
        fanfold_users::handler::relate(&world.users, &me, &author, relation, world.now()).await
    };
    set(FOLLOWING_MAX).await;
    let refused = relate("birch", Relation::Following).await.expect_err("one too many");
    assert_eq!(refused.kind, Kind::FollowingLimit);
    // again is no more than before, and one less makes room
    relate("cedar", Relation::Following).await.expect("followed already");
    set(FOLLOWING_MAX - 1).await;
    relate("birch", Relation::Following).await.expect("the last one");
}
