//! One request can be followed through all logs, and metrics are told; what people wrote stays out.

use serde_json::{Value, json};

use crate::harness::client::{Answer, Client};
use crate::harness::logs::{function, functions, lines, said};
use crate::harness::{dice, eventually};
use crate::queues::call;

fn request_of(answer: &Answer) -> String {
    answer.headers["x-request-id"].to_str().expect("a text").to_owned()
}

fn sum(lines: &[Value], name: &str) -> u64 {
    lines.iter().map(|line| line[name].as_u64().expect("a number")).sum()
}

/// At once, in chunks, and by way of the queues for large audiences: the deployed stack takes 2 for few
/// and 6 for many.
#[tokio::test]
async fn a_post_is_followed_from_its_request_to_the_last_delivery() {
    for (count, ways) in [(2u64, &["pushed"][..]), (5, &["cut"]), (9, &["cut", "divided"])] {
        let (since_ms, author) = (fanfold_store::clock::now_ms(), Client::new().await);
        let mut readers = Vec::new();
        for _ in 0..count {
            let reader = Client::new().await;
            reader.put(&format!("/v1/users/{}/follow", author.id)).await;
            reader.get("/v1/timeline").await;
            readers.push(reader);
        }
        let secret = format!("secret{:x}", dice::fresh());
        let answer = author.post(&format!("a text with {secret} in it")).await;
        let (request, post) = (request_of(&answer), answer.text("/id"));

        let posts = function("Posts").await;
        let published = eventually("published", async || {
            said(&posts, since_ms, &request, "published").await.pop()
        });
        assert_eq!(published.await["post"], post);
        let served =
            eventually("served", async || said(&posts, since_ms, &request, "served").await.pop());
        let served = served.await;
        for (name, expected) in [
            ("request_id", json!(request)),
            ("method", json!("POST")),
            ("route", json!("/v1/posts")),
            ("status", json!(201)),
            ("user", json!(author.id)),
        ] {
            assert_eq!(served[name], expected, "{served}");
        }
        assert!(served["ms"].is_u64() && served["invocation"].is_string(), "{served}");

        let deliver = function(if count > 2 { "Deliver" } else { "Dispatch" }).await;
        let delivered = eventually("all deliveries", async || {
            let lines = said(&deliver, since_ms, &request, "delivered").await;
            (sum(&lines, "delivered") + sum(&lines, "not_live") >= count).then_some(lines)
        });
        let delivered = delivered.await;
        assert!(delivered.iter().all(|line| line["post"] == post.as_str()), "{delivered:?}");
        assert!(delivered.iter().all(|line| line["request_id"] == request.as_str()));
        let dispatch = function("Dispatch").await;
        let dispatched = said(&dispatch, since_ms, &request, "dispatched").await;
        assert!(dispatched.iter().all(|line| line["post"] == post.as_str()), "{dispatched:?}");
        let mut taken: Vec<&str> = dispatched.iter().filter_map(|l| l["way"].as_str()).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken, ways, "{dispatched:?}");
        let followers = dispatched.iter().find_map(|line| line["followers"].as_u64());
        assert_eq!(followers, Some(count), "{dispatched:?}");

        nobody_tells(&[&secret, author.token.as_deref().expect("a token")], since_ms).await;
    }
}

/// No function's log holds any of this.
async fn nobody_tells(secrets: &[&str], since_ms: u64) {
    let mut all = 0;
    for function in functions().await {
        let lines = lines(&function, since_ms, "").await;
        all += lines.len();
        for secret in secrets {
            let told = lines.iter().find(|line| line.contains(secret));
            assert_eq!(told, None, "{function} tells what it should not");
        }
    }
    assert!(all > 5, "the search itself works: {all} lines");
}

#[tokio::test]
async fn a_follow_is_followed_to_the_feed_and_a_reading_to_its_rebuild() {
    let since_ms = fanfold_store::clock::now_ms();
    let (reader, author) = (Client::new().await, Client::new().await);
    let request = request_of(&reader.put(&format!("/v1/users/{}/follow", author.id)).await);
    let graph = function("Graph").await;
    let related =
        eventually("related", async || said(&graph, since_ms, &request, "related").await.pop());
    let related = related.await;
    assert_eq!((&related["follower"], &related["author"]), (&json!(reader.id), &json!(author.id)));
    assert_eq!(
        (&related["relation"], &related["request_id"]),
        (&json!("following"), &json!(request))
    );
    let request = request_of(&reader.get("/v1/timeline").await);
    let timeline = function("Timeline").await;
    let rebuilt =
        eventually("rebuilt", async || said(&timeline, since_ms, &request, "rebuilt").await.pop());
    assert_eq!(rebuilt.await["request_id"], json!(request));
}

/// A path, a method and a header that somebody made up.
#[tokio::test]
async fn what_a_caller_makes_up_is_not_logged() {
    let (since_ms, caller) = (fanfold_store::clock::now_ms(), Client::new().await);
    let made_up = format!("made-up-{:x}", dice::fresh());
    let problem = caller.get(&format!("/v1/{made_up}")).await;
    assert_eq!(problem.problem(), (404, "/problems/no-such-route"));
    let request = request_of(&problem);
    let headers = [("X-Request-Id", made_up.as_str()), ("User-Agent", made_up.as_str())];
    let forged = caller.send(reqwest::Method::GET, "/v1/users/x", &headers, None).await;
    assert_eq!(forged.problem(), (400, "/problems/invalid-id"));
    assert_ne!(request_of(&forged), made_up);
    let users = function("Users").await;
    let served =
        eventually("served", async || said(&users, since_ms, &request, "served").await.pop());
    let served = served.await;
    assert_eq!((&served["status"], &served["route"]), (&json!(404), &Value::Null), "{served}");
    nobody_tells(&[&made_up], since_ms).await;
}

/// What alarms look at is there, with zeros.
#[tokio::test]
async fn alarms_have_data() {
    let since_ms = fanfold_store::clock::now_ms();
    let (reader, author) = (Client::new().await, Client::new().await);
    reader.put(&format!("/v1/users/{}/follow", author.id)).await;
    reader.get("/v1/timeline").await;
    author.publish("text").await;
    call("AuditFunction", &json!({"any": "event"})).await;
    for (name, metrics) in [
        ("Posts", &["Requests", "Unavailable"][..]),
        ("Users", &["Requests", "Unavailable"]),
        ("Timeline", &["Requests", "Unavailable", "FeedHits", "FeedMisses"]),
        ("Dispatch", &["MessagesAnew", "MessagesDead"]),
        ("Graph", &["MessagesAnew", "MessagesDead"]),
        ("Audit", &["AuditChecked", "AuditDifferences", "AuditRepaired"]),
    ] {
        let function = function(name).await;
        for metric in metrics {
            let what = format!("{metric} of {name}");
            let line = eventually(&what, async || {
                let lines = lines(&function, since_ms, metric).await;
                lines.into_iter().find(|line| line.contains("\"_aws\""))
            });
            let line: Value = serde_json::from_str(&line.await).expect("JSON");
            assert!(line[metric].is_u64(), "{line}");
            let told = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().expect("metrics");
            assert!(told.iter().any(|known| known["Name"] == *metric), "{line}");
        }
    }
}
