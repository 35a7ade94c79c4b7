//! Tags over HTTP: a client that writes, edits and deletes posts with tags in several scripts, and knows what each feed must have.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::dice::Dice;

/// Spellings of each tag, which are one tag. A run has its own tags.
const TAGS: [[&str; 3]; 4] = [
    ["Straße", "STRASSE", "ｓtraße"],
    ["Ночь", "ночь", "НОЧЬ"],
    ["東京", "東京", "東京"],
    ["Cafe\u{301}", "Café", "CAFÉ"],
];
const ACTIONS: usize = 60;

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The path of a tag of this run.
fn path(run: &str, nth: usize, spelling: usize) -> String {
    format!("/v1/tags/{}", encoded(&format!("{}{run}", TAGS[nth][spelling])))
}

/// What the feeds of the tags must have: the posts, each with its tags.
#[derive(Default)]
struct Oracle(BTreeMap<String, BTreeSet<usize>>);

impl Oracle {
    fn of(&self, tag: usize) -> Vec<String> {
        let has = self.0.iter().rev().filter(|(_, tags)| tags.contains(&tag));
        has.map(|(post, _)| post.clone()).collect()
    }
}

/// A text with some tags, and the tags.
fn text(dice: &mut Dice, run: &str) -> (String, BTreeSet<usize>) {
    let tags: BTreeSet<usize> = (0..TAGS.len()).filter(|_| dice.one_in(3)).collect();
    let mut text = format!("post {}", dice.next());
    for tag in &tags {
        text += &format!(" #{}{run}", dice.pick(&TAGS[*tag]));
    }
    (text, tags)
}

#[tokio::test]
async fn the_feeds_of_tags_have_what_an_oracle_says() {
    let (author, other) = (Client::new().await, Client::new().await);
    let (mut oracle, mut dice) = (Oracle::default(), Dice(33));
    let run = author.handle.replace(|c: char| !c.is_ascii_alphanumeric(), "");
    for nth in 0..ACTIONS {
        let client = if nth % 3 == 0 { &other } else { &author };
        let (text, tags) = text(&mut dice, &run);
        let own: Vec<String> = oracle.0.keys().cloned().collect();
        let changed = (!own.is_empty() && dice.one_in(2)).then(|| dice.pick(&own).clone());
        match changed {
            None => {
                _ = oracle.0.insert(client.publish(&text).await, tags);
            }
            Some(post) => {
                let path = format!("/v1/posts/{post}");
                let is_authors = client.get(&path).await.text("/author/id") == author.id;
                let owner = if is_authors { &author } else { &other };
                if dice.one_in(3) {
                    assert_eq!(owner.delete(&path).await.status, 204);
                    oracle.0.remove(&post);
                } else {
                    let body = Some(json!({"text": text}));
                    assert_eq!(owner.send(Method::PATCH, &path, &[], body).await.status, 200);
                    oracle.0.insert(post, tags);
                }
            }
        }
        // a walk while messages are under way: every page is full and in order
        if nth % 10 == 9 {
            let path = format!("{}/posts", path(&run, nth / 10 % TAGS.len(), 0));
            let shown = other.walk(&path, 2).await;
            assert!(shown.is_sorted_by(|a, b| a > b), "out of order, or twice: {shown:?}");
        }
    }
    for tag in 0..TAGS.len() {
        let (began, expected) = (Instant::now(), oracle.of(tag));
        loop {
            let path = format!("{}/posts", path(&run, tag, dice.below(3) as usize));
            let shown = other.walk(&path, 3).await;
            if shown == expected {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{shown:?}, not {expected:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let pulled = format!("{}/posts?limit=100&source=pull", path(&run, tag, 1));
        assert_eq!(other.get(&pulled).await.ids(), expected);
        let put = format!("{}/follow", path(&run, tag, 2));
        assert_eq!(other.put(&put).await.status, 204);
    }
    let all: BTreeSet<String> = (0..TAGS.len()).flat_map(|tag| oracle.of(tag)).collect();
    let expected: Vec<String> = all.into_iter().rev().collect();
    assert_eq!(other.walk("/v1/tags/timeline", 4).await, expected);
    let followed = other.get("/v1/tags").await;
    assert_eq!(followed.body["items"].as_array().map(Vec::len), Some(TAGS.len()));
    // they are in the export
    let mut lines = Vec::new();
    let mut page = other.get("/v1/me/export").await.body;
    loop {
        lines.extend(page["items"].as_array().expect("items").clone());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        page = other.get(&format!("/v1/me/export?cursor={cursor}")).await.body;
    }
    let is_tag = |line: &&Value| line["type"] == "followed_tag";
    assert_eq!(lines.iter().filter(is_tag).count(), TAGS.len());
}

#[tokio::test]
async fn tags_that_are_none_are_refused() {
    let client = Client::new().await;
    for wrong in ["12", "a%20b", "%23", "a%23b", "%40ash", &"x".repeat(102)] {
        for path in ["", "/posts"] {
            let answer = client.get(&format!("/v1/tags/{wrong}{path}")).await;
            assert_eq!(answer.problem(), (400, "/problems/invalid-parameter"), "{wrong}{path}");
        }
        let follow = format!("/v1/tags/{wrong}/follow");
        assert_eq!(client.put(&follow).await.status, 400);
    }
    // the tag *timeline* is another thing than the timeline of tags
    assert_eq!(client.get("/v1/tags/%23timeline").await.text("/tag"), "timeline");
    for wrong in ["q=", &format!("q={}", "x".repeat(102)), "p=x", "q=a&q=b"] {
        assert_eq!(client.get(&format!("/v1/tags?{wrong}")).await.status, 400, "{wrong}");
    }
    let cursor = client.get("/v1/tags/one/posts?limit=1").await.text("/newest_cursor");
    for other in ["/v1/tags/two/posts", "/v1/public", "/v1/tags/timeline", "/v1/timeline"] {
        let answer = client.get(&format!("{other}?cursor={cursor}")).await;
        assert_eq!(answer.status, 404, "{other}");
    }
    let nobody = Client::signed_in().await;
    let put = nobody.put("/v1/tags/one/follow").await;
    assert_eq!(put.problem(), (409, "/problems/profile-missing"));
}

/// One author has more posts with a tag than a request reads, so a message makes the ranking. The author counts once.
#[tokio::test]
async fn a_tag_in_use_is_ranked_by_its_authors() {
    let (author, other) = (Client::new().await, Client::new().await);
    let tag = format!("used{}", author.handle);
    for _ in 0..20 {
        author.publish(&format!("#{tag}")).await;
    }
    other.publish(&format!("#{}", tag.to_uppercase())).await;
    let began = Instant::now();
    loop {
        let (mut found, mut cursor) = (None, String::new());
        while found.is_none() {
            let path = format!("/v1/rankings/tags-day?limit=100{cursor}");
            let page = other.try_get(&path).await.expect("the API answers");
            if page.status == 503 {
                // no snapshot is ready
                break;
            }
            let items = page.body["items"].as_array().cloned().unwrap_or_default();
            found = items.into_iter().find(|item| item["tag"]["tag"] == tag.as_str());
            let Some(next) = page.body["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        let found = found.unwrap_or_default();
        if (&found["authors"], &found["tag"]["name"]) == (&json!(2), &json!(tag)) {
            assert_eq!(
                (&found["likes"], &found["post"], &found["user"]),
                (&Value::Null, &Value::Null, &Value::Null)
            );
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{found}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
