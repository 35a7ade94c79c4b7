//! Leaderboards.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::{Answer, Client};

async fn put(client: &Client, path: &str, body: Value) -> Answer {
    client.send(Method::PUT, path, &[], Some(body)).await
}

/// Member and rank of each item.
fn items(answer: &Answer) -> Vec<(String, u64)> {
    let items = answer.body["items"].as_array().expect("items").iter();
    let item = |item: &Value| {
        let member = item["member"].as_str().expect("a member").to_owned();
        (member, item["rank"].as_u64().expect("a rank"))
    };
    items.map(item).collect()
}

fn named(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter().map(|(name, rank)| ((*name).to_owned(), *rank)).collect()
}

#[tokio::test]
async fn a_board_is_made_filled_read_and_deleted() {
    let (owner, other) = (Client::new().await, Client::new().await);
    let board = "/v1/leaderboards/a%20game";
    let made = put(&owner, board, json!({"orders": ["descending", "ascending"], "limit": 4})).await;
    assert_eq!(made.status, 201, "{made:?}");
    let expected = json!({
        "owner": owner.id, "name": "a game", "orders": ["descending", "ascending"],
        "ranks": "competition", "limit": 4, "period": "all", "zone": "UTC", "kept_days": 30,
        "open": false, "writers": [], "merge": null, "created_at": made.body["created_at"],
    });
    assert_eq!(made.body, expected);
    let again =
        put(&owner, board, json!({"orders": ["descending", "ascending"], "limit": 4})).await;
    assert_eq!((again.status, &again.body), (200, &expected));
    assert_eq!(owner.get("/v1/leaderboards").await.body, json!({"items": [expected]}));
    // scores are strings of digits, exact over 64 bits
    let set = put(
        &owner,
        &format!("{board}/members/ash"),
        json!({
            "scores": [i64::MAX.to_string(), i64::MIN.to_string()],
        }),
    )
    .await;
    let scores = json!(["9223372036854775807", "-9223372036854775808"]);
    assert_eq!(set.status, 200, "{set:?}");
    assert_eq!(
        set.body,
        json!({
            "member": "ash", "scores": scores, "rank": 1, "members": 1, "fell_out": [],
        })
    );
    let worse = json!({"scores": ["1", "1"], "if_better": true});
    let kept = put(&owner, &format!("{board}/members/ash"), worse).await;
    assert_eq!(kept.body["scores"], scores);
    let overflow = json!({"add": ["1", "0"]});
    let path = format!("{board}/members/ash");
    let refused = owner.send(Method::PATCH, &path, &[], Some(overflow)).await;
    assert_eq!(refused.problem(), (422, "/problems/score-overflow"));
    // several members at once; the fifth falls out
    let changes = json!({"changes": [
        {"member": "birch", "set": ["5", "1"]},
        {"member": "cedar", "add": ["5", "1"]},
        {"member": "elm & oak", "set_if_better": ["4", "0"]},
        {"member": "fir", "set": ["3", "0"]},
        {"member": "ash", "add": ["1", "0"]},
        {"member": "nobody", "remove": true},
    ]});
    let path = format!("{board}/members");
    let changed = owner.send(Method::POST, &path, &[], Some(changes)).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(changed.body["fell_out"], json!(["fir"]));
    assert_eq!(changed.body["members"], 4);
    assert_eq!(
        changed.body["results"],
        json!([
            {"member": "birch", "scores": ["5", "1"], "rank": 2, "problem": null},
            {"member": "cedar", "scores": ["5", "1"], "rank": 2, "problem": null},
            {"member": "elm & oak", "scores": ["4", "0"], "rank": 4, "problem": null},
            {"member": "fir", "scores": null, "rank": null, "problem": null},
            {"member": "ash", "scores": null, "rank": null, "problem": "/problems/score-overflow"},
            {"member": "nobody", "scores": null, "rank": null, "problem": "/problems/no-such-member"},
        ])
    );
    // everybody reads
    let of = format!("owner={}", owner.id);
    let page = other.get(&format!("{board}?{of}&limit=2")).await;
    assert_eq!(
        (page.body["members"].clone(), items(&page)),
        (json!(4), named(&[("ash", 1), ("birch", 2)]))
    );
    let page = other.get(&format!("{board}?{of}&from_rank=3")).await;
    assert_eq!((items(&page), &page.body["position"]), (named(&[("elm & oak", 4)]), &json!(4)));
    let page = other.get(&format!("{board}?{of}&min_score=4&max_score=5&offset=1")).await;
    assert_eq!(page.body["in_range"], 3);
    assert_eq!(items(&page), named(&[("cedar", 2), ("elm & oak", 4)]));
    let around = other.get(&format!("{board}/around/cedar?{of}&above=1&below=1")).await;
    assert_eq!(items(&around), named(&[("birch", 2), ("cedar", 2), ("elm & oak", 4)]));
    let one = other.get(&format!("{board}/members/elm%20%26%20oak?{of}")).await;
    assert_eq!((&one.body["rank"], &one.body["percentile"]), (&json!(4), &json!(25.0)));
    let middle = other.get(&format!("{board}/percentiles/50?{of}")).await;
    assert_eq!(items(&middle), named(&[("cedar", 2)]));
    let friends = json!({"members": ["elm & oak", "nobody", "cedar"]});
    let path = format!("{board}/standings?{of}");
    let friends = other.send(Method::POST, &path, &[], Some(friends)).await;
    let standing = |nth: usize| {
        let of = &friends.body["items"][nth];
        (of["rank"].clone(), of["rank_among"].clone())
    };
    assert_eq!(standing(0), (json!(4), json!(2)), "{friends:?}");
    assert_eq!(standing(1), (Value::Null, Value::Null));
    assert_eq!(standing(2), (json!(2), json!(1)));
    // a member and the board go
    assert_eq!(owner.delete(&format!("{board}/members/cedar")).await.status, 204);
    let gone = owner.delete(&format!("{board}/members/cedar")).await;
    assert_eq!(gone.problem(), (404, "/problems/no-such-member"));
    let gone = owner.get(&format!("{board}/around/cedar")).await;
    assert_eq!(gone.problem(), (404, "/problems/no-such-member"));
    assert_eq!(owner.delete(board).await.status, 204);
    for path in [board.to_owned(), format!("{board}/members/ash")] {
        assert_eq!(owner.get(&path).await.problem(), (404, "/problems/no-such-board"));
    }
    assert_eq!(owner.delete(board).await.problem(), (404, "/problems/no-such-board"));
}

#[tokio::test]
async fn periods_and_merged_boards_are_read_by_their_owner_and_day() {
    let owner = Client::new().await;
    let day = "/v1/leaderboards/daily";
    let made =
        put(&owner, day, json!({"period": "day", "zone": "Asia/Kolkata", "kept_days": 3})).await;
    assert_eq!((made.status, &made.body["zone"]), (201, &json!("Asia/Kolkata")));
    put(&owner, &format!("{day}/members/x"), json!({"scores": ["1"]})).await;
    let page = owner.get(day).await;
    let round = &page.body["round"];
    assert!(round["begins_at"].as_str().expect("a time").ends_with("T18:30:00.000Z"), "{round}");
    let today = round["first_day"].as_str().expect("a day");
    assert_eq!(items(&owner.get(&format!("{day}?day={today}")).await), named(&[("x", 1)]));
    let past = owner.get(&format!("{day}?day=2020-01-01")).await;
    assert_eq!(past.problem(), (404, "/problems/no-such-board"));
    let fixed = put(&owner, day, json!({"period": "week"})).await;
    assert_eq!(fixed.problem(), (409, "/problems/board-fixed"));
    put(&owner, "/v1/leaderboards/more", json!({})).await;
    put(&owner, "/v1/leaderboards/more/members/x", json!({"scores": ["1"]})).await;
    let source = json!({"owner": owner.id, "name": "daily", "day": today});
    let more = json!({"owner": owner.id, "name": "more", "day": null});
    let merge = json!({"merge": {"by": "sum", "boards": [source, more]}});
    let merged = put(&owner, "/v1/leaderboards/all", merge).await;
    assert_eq!(merged.status, 201, "{merged:?}");
    let page = owner.get("/v1/leaderboards/all").await;
    assert_eq!(page.body["items"][0]["scores"], json!(["2"]), "{page:?}");
    assert!(page.body["merged_at"].is_string());
    let refused = put(&owner, "/v1/leaderboards/all/members/x", json!({"scores": ["1"]})).await;
    assert_eq!(refused.problem(), (409, "/problems/board-fixed"));
}

/// Names of zones have one to three parts, digits, hyphens and signs.
#[tokio::test]
async fn the_description_has_the_zones_that_are_taken() {
    let owner = Client::new().await;
    let described = owner.get("/openapi.json").await.body;
    let zone = &described["components"]["schemas"]["BoardSettings"]["properties"]["zone"];
    let described = jsonschema::validator_for(zone).expect("a schema");
    for (nth, name) in
        ["UTC", "America/Argentina/Buenos_Aires", "America/Port-au-Prince", "Etc/GMT+5", "EST5EDT"]
            .into_iter()
            .enumerate()
    {
        assert!(described.is_valid(&json!(name)), "{name}");
        let settings = json!({"period": "day", "zone": name});
        let made = put(&owner, &format!("/v1/leaderboards/b{nth}"), settings).await;
        assert_eq!((made.status, &made.body["zone"]), (201, &json!(name)), "{made:?}");
    }
    for name in ["", "/UTC", "Europe//Berlin", "../UTC", "Europe/Ber lin"] {
        assert!(!described.is_valid(&json!(name)), "{name}");
    }
}

#[tokio::test]
async fn what_is_not_a_board_a_member_or_a_score_is_refused() {
    let (owner, newcomer) = (Client::new().await, Client::signed_in().await);
    let board = "/v1/leaderboards/b";
    assert_eq!(
        put(&newcomer, board, json!({})).await.problem(),
        (409, "/problems/profile-missing")
    );
    put(&owner, board, json!({})).await;
    for (body, problem) in [
        (json!({"orders": []}), (422, "/problems/invalid-board")),
        (json!({"orders": ["up"]}), (400, "/problems/invalid-body")),
        (json!({"limit": 0}), (422, "/problems/invalid-board")),
        (json!({"zone": "Mars/Base"}), (400, "/problems/invalid-body")),
        (json!({"unknown": 1}), (400, "/problems/invalid-body")),
        (
            json!({"merge": {"by": "sum", "boards": [{"owner": owner.id, "name": "none"}]}}),
            (404, "/problems/no-such-board"),
        ),
    ] {
        let refused = put(&owner, "/v1/leaderboards/other", body.clone()).await;
        assert_eq!(refused.problem(), problem, "{body}");
    }
    for (body, problem) in [
        (json!({"scores": [5]}), (400, "/problems/invalid-body")),
        (json!({"scores": ["05"]}), (400, "/problems/invalid-body")),
        (json!({"scores": ["9223372036854775808"]}), (400, "/problems/invalid-body")),
        (json!({"scores": []}), (422, "/problems/invalid-scores")),
        (json!({"scores": ["1", "2"]}), (422, "/problems/invalid-scores")),
    ] {
        let refused = put(&owner, &format!("{board}/members/x"), body.clone()).await;
        assert_eq!(refused.problem(), problem, "{body}");
    }
    for query in [
        "from_rank=0",
        "limit=101",
        "limit=x",
        "min_score=2&max_score=1",
        "from_rank=1&offset=1",
        "offset=-1",
        "min_score=1.5",
        "day=2030-1-1",
        "other=1",
    ] {
        let refused = owner.get(&format!("{board}?{query}")).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-parameter"), "{query}");
    }
    for path in ["percentiles/101", "percentiles/x", "members/%20x", "members/a%25b"] {
        let refused = owner.get(&format!("{board}/{path}")).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-id"), "{path}");
    }
    for name in ["a/b", "a?b", "a\u{202e}b", "a\u{200b}b", "a\u{fffe}b", "\u{1d159}", "caf\u{fffd}"]
    {
        let changes = json!({"changes": [{"member": name, "set": ["1"]}]});
        let path = format!("{board}/members");
        let refused = owner.send(Method::POST, &path, &[], Some(changes)).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-body"), "{name:?}");
        let named = name.chars().find(|c| !c.is_ascii_alphabetic()).expect("a character");
        let named = format!("U+{:04X}", u32::from(named));
        let detail = refused.text("/detail");
        assert!(detail.contains(&named) || detail.contains("no visible character"), "{detail}");
    }
    let standings = json!({"members": ["x", "y", "x"]});
    let refused =
        owner.send(Method::POST, &format!("{board}/standings"), &[], Some(standings)).await;
    assert_eq!(refused.problem(), (422, "/problems/invalid-scores"));
    let twice =
        json!({"changes": [{"member": "x", "set": ["1"]}, {"member": "x", "remove": true}]});
    let both = json!({"changes": [{"member": "x", "set": ["1"], "add": ["1"]}]});
    let not_removed = json!({"changes": [{"member": "x", "set": ["1"], "remove": false}]});
    for body in [twice, both, not_removed, json!({"changes": []})] {
        let path = format!("{board}/members");
        let refused = owner.send(Method::POST, &path, &[], Some(body)).await;
        assert_eq!(refused.problem(), (422, "/problems/invalid-scores"));
    }
    let nobody = owner.get(&format!("{board}/members/nobody")).await;
    assert_eq!(nobody.problem(), (404, "/problems/no-such-member"));
}

/// A request never changes a board that its caller did not name.
#[tokio::test]
async fn settings_of_another_user_and_encoded_separators_change_nothing() {
    let (owner, other) = (Client::new().await, Client::new().await);
    let board = "/v1/leaderboards/conf";
    for user in [&owner, &other] {
        assert_eq!(put(user, board, json!({"limit": 7})).await.status, 201);
    }
    put(&owner, &format!("{board}/members/bob"), json!({"scores": ["1"]})).await;
    let (own, foreign) =
        (format!("{board}?owner={}", owner.id), format!("{board}?owner={}", other.id));
    let not_yours = (403, "/problems/not-yours");
    assert_eq!(owner.delete(&foreign).await.problem(), not_yours);
    assert_eq!(put(&owner, &foreign, json!({})).await.problem(), not_yours);
    assert_eq!(put(&owner, &own, json!({"limit": 7})).await.status, 200);
    for path in ["conf%2Fmembers%2Fbob", "conf%2fmembers/bob", "conf/members%2Fbob"] {
        let refused = owner.delete(&format!("/v1/leaderboards/{path}")).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-id"), "{path}");
        assert!(refused.text("/detail").contains("encoded /"), "{refused:?}");
    }
    for name in ["conf%3Fx", "caf%e9", "caf%e8", "%EF%BF%BD"] {
        for path in [format!("/v1/leaderboards/{name}"), format!("{board}/members/{name}")] {
            let body = if path.contains("members") { json!({"scores": ["1"]}) } else { json!({}) };
            let refused = put(&owner, &path, body).await;
            assert_eq!(refused.problem(), (400, "/problems/invalid-id"), "{path}");
        }
    }
    assert_eq!(items(&owner.get(board).await), named(&[("bob", 1)]));
    assert_eq!(owner.get("/v1/leaderboards").await.body["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(other.get(board).await.body["board"]["limit"], 7);
    assert_eq!(owner.delete(&own).await.status, 204);
    assert_eq!(owner.get(board).await.problem(), (404, "/problems/no-such-board"));
}
