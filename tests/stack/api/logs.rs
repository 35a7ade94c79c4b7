//! The logs trace a request through all functions and contain the metrics. They do not contain texts of users.

use fanfold_runtime::clock;
use serde_json::{Value, json};

use super::users::wait_for_followers;
use crate::harness::client::{Answer, Client};
use crate::harness::logs::{entries, function, functions, lines};
use crate::harness::{dice, eventually};
use crate::queues::call;
use fanfold_core::Time;

fn request_of(answer: &Answer) -> String {
    answer.headers["x-request-id"].to_str().expect("a text").to_owned()
}

fn sum(lines: &[Value], name: &str) -> u64 {
    lines.iter().map(|line| line[name].as_u64().expect("a number")).sum()
}

/// The three paths of fan-out: at once, in chunks, and through the queues for large audiences. In the deployed
/// stack, an audience of up to 2 followers is small, and one of 6 is large.
#[tokio::test]
async fn logs_trace_a_post_from_its_request_to_the_last_delivery() {
    for (count, ways) in [(2u64, &["pushed"][..]), (5, &["cut"]), (9, &["cut", "divided"])] {
        let (since, author) = (clock::now(), Client::new().await);
        let mut readers = Vec::new();
        for _ in 0..count {
            let reader = Client::new().await;
            reader.put(&format!("/v1/users/{}/follow", author.id)).await;
            reader.get("/v1/timeline").await;
            readers.push(reader);
        }
        wait_for_followers(&author, count as usize).await;
        let secret = format!("secret{:x}", dice::fresh());
        let answer = author.post(&format!("a text with {secret} in it")).await;
        let (request, post) = (request_of(&answer), answer.text("/id"));

        let posts = function("Posts").await;
        let published = eventually("published", async || {
            entries(&posts, since, &request, "published").await.pop()
        });
        assert_eq!(published.await["post"], post);
        let served =
            eventually("served", async || entries(&posts, since, &request, "served").await.pop());
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
            let lines = entries(&deliver, since, &request, "delivered").await;
            (sum(&lines, "delivered") + sum(&lines, "not_live") >= count).then_some(lines)
        });
        let delivered = delivered.await;
        assert!(delivered.iter().all(|line| line["post"] == post.as_str()), "{delivered:?}");
        assert!(delivered.iter().all(|line| line["request_id"] == request.as_str()));
        let dispatch = function("Dispatch").await;
        // a line may arrive after the deliveries that it led to
        let dispatched = eventually("every way of the dispatch", async || {
            let lines = entries(&dispatch, since, &request, "dispatched").await;
            let taken = |way: &&str| lines.iter().any(|line| line["way"] == **way);
            ways.iter().all(taken).then_some(lines)
        });
        let dispatched = dispatched.await;
        assert!(dispatched.iter().all(|line| line["post"] == post.as_str()), "{dispatched:?}");
        let mut taken: Vec<&str> = dispatched.iter().filter_map(|l| l["way"].as_str()).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken, ways, "{dispatched:?}");
        let followers = dispatched.iter().find_map(|line| line["followers"].as_u64());
        assert_eq!(followers, Some(count), "{dispatched:?}");

        check_not_logged(&[&secret, author.token.as_deref().expect("a token")], since).await;
    }
}

/// Fails if the log of a function contains a secret.
async fn check_not_logged(secrets: &[&str], since: Time) {
    let mut all = 0;
    for function in functions().await {
        let lines = lines(&function, since, "").await;
        all += lines.len();
        for secret in secrets {
            let leak = lines.iter().find(|line| line.contains(secret));
            assert_eq!(leak, None, "{function} logs a secret");
        }
    }
    assert!(all > 5, "the search finds too few lines: {all}");
}

#[tokio::test]
async fn logs_trace_a_follow_to_the_feed_and_a_read_to_its_rebuild() {
    let since = clock::now();
    let (reader, author) = (Client::new().await, Client::new().await);
    let request = request_of(&reader.put(&format!("/v1/users/{}/follow", author.id)).await);
    let graph = function("Changes").await;
    let related =
        eventually("related", async || entries(&graph, since, &request, "related").await.pop());
    let related = related.await;
    assert_eq!((&related["follower"], &related["author"]), (&json!(reader.id), &json!(author.id)));
    assert_eq!(
        (&related["relation"], &related["request_id"]),
        (&json!("following"), &json!(request))
    );
    let request = request_of(&reader.get("/v1/timeline").await);
    let timeline = function("Timeline").await;
    let rebuilt =
        eventually("rebuilt", async || entries(&timeline, since, &request, "rebuilt").await.pop());
    assert_eq!(rebuilt.await["request_id"], json!(request));
}

/// Invented paths and headers are not in the log.
#[tokio::test]
async fn invented_paths_and_headers_are_not_logged() {
    let (since, caller) = (clock::now(), Client::new().await);
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
        eventually("served", async || entries(&users, since, &request, "served").await.pop());
    let served = served.await;
    assert_eq!((&served["status"], &served["route"]), (&json!(404), &Value::Null), "{served}");
    check_not_logged(&[&made_up], since).await;
}

/// The metrics of the alarms are logged, with zeros.
#[tokio::test]
async fn alarms_have_data() {
    let since = clock::now();
    let (reader, author) = (Client::new().await, Client::new().await);
    reader.put(&format!("/v1/users/{}/follow", author.id)).await;
    reader.get("/v1/timeline").await;
    author.publish("text").await;
    call("AuditFunction", &json!({"any": "event"})).await;
    for (name, metrics) in [
        ("Posts", &["Requests", "Unavailable"][..]),
        ("Users", &["Requests", "Unavailable"]),
        ("Timeline", &["Requests", "Unavailable", "FeedHits", "FeedMisses"]),
        ("Dispatch", &["MessagesRequeued", "MessagesDead"]),
        ("Changes", &["MessagesRequeued", "MessagesDead"]),
        ("Audit", &["AuditChecked", "AuditDifferences", "AuditRepaired"]),
    ] {
        let function = function(name).await;
        for metric in metrics {
            let what = format!("{metric} of {name}");
            let line = eventually(&what, async || {
                let lines = lines(&function, since, metric).await;
                lines.into_iter().find(|line| line.contains("\"_aws\""))
            });
            let line: Value = serde_json::from_str(&line.await).expect("JSON");
            assert!(line[metric].is_u64(), "{line}");
            let metrics =
                line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().expect("metrics");
            assert!(metrics.iter().any(|known| known["Name"] == *metric), "{line}");
        }
    }
}
