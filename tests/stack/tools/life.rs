//! `cargo local --people --posts-per-minute`: demo users post, like and follow while the system runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fanfold_core::time::Time;
use serde_json::Value;

use super::local::{cargo_local, last_word, listens};
use super::program::{Background, command, succeed};

const PER_MINUTE: usize = 60;
const PEOPLE: usize = 20;

/// Reads the API as one user.
struct Reader {
    api: String,
    token: String,
}

impl Reader {
    fn items(&self, path: &str) -> Vec<Value> {
        let (url, bearer) =
            (format!("{}{path}", self.api), format!("Authorization: Bearer {}", self.token));
        let page = succeed(command("curl", &["-sf", "--retry", "3", &url, "-H", &bearer]));
        let page: Value = serde_json::from_str(&page).expect("JSON");
        page["items"].as_array().expect("items").clone()
    }

    /// The handles of everybody who follows one of these people, and of these.
    fn everybody(&self, known: &[String]) -> BTreeSet<String> {
        let followers = known.iter().flat_map(|handle| {
            let users = self.items(&format!("/v1/users/@{handle}/followers?limit=100"));
            users.into_iter().map(|user| user["handle"].as_str().expect("a handle").to_owned())
        });
        followers.chain(known.iter().cloned()).collect()
    }

    /// The posts of these people since a time: the author and the likes of each, by id.
    fn posts(&self, people: &BTreeSet<String>, since: &str) -> BTreeMap<String, (String, u64)> {
        let mut found = BTreeMap::new();
        for handle in people {
            for post in self.items(&format!("/v1/users/@{handle}/posts?limit=100")) {
                if post["created_at"].as_str().expect("a time") >= since {
                    let id = post["id"].as_str().expect("an id").to_owned();
                    let likes = post["like_count"].as_u64().expect("likes");
                    found.insert(id, (handle.clone(), likes));
                }
            }
        }
        found
    }
}

#[test]
fn demo_users_post_and_like_at_a_bounded_rate_until_a_signal() {
    let file =
        |name: &str| std::env::temp_dir().join(format!("fanfold-{name}-{}", std::process::id()));
    let (runs, log) = (file("life"), file("life-log"));
    let (people, rate) = (PEOPLE.to_string(), PER_MINUTE.to_string());
    let mut up = cargo_local(&["--people", &people, "--posts-per-minute", &rate]);
    up.env("FANFOLD_RUNS", &runs).stdout(Stdio::piped());
    up.stderr(std::fs::File::create(&log).expect("a file"));
    let mut up = Background::start(up);
    let mut lines = Vec::new();
    for line in BufReader::new(up.child.stdout.take().expect("its output")).lines() {
        lines.push(line.expect("a line"));
        if lines.last().is_some_and(|line| line.starts_with("Ctrl-C")) {
            break;
        }
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
    let (since, start) = ((Time::EPOCH + since).rfc3339(), Instant::now());
    let named = lines.iter().find_map(|line| line.strip_prefix("  People")).expect("the people");
    let (named, more) = named.trim().rsplit_once(", and ").expect("more people");
    let known: Vec<String> = named.split(", ").map(str::to_owned).collect();
    assert_eq!((known.len(), more), (12, "8 more"), "{lines:#?}");
    let mut token = cargo_local(&["token", "ash"]);
    token.env("FANFOLD_RUNS", &runs);
    let token = succeed(token).trim().to_owned();
    let reader = Reader { api: last_word(&lines, "  API"), token };

    let mut everybody = BTreeSet::new();
    let posts = loop {
        if everybody.len() < PEOPLE {
            everybody = reader.everybody(&known);
        }
        let posts = reader.posts(&everybody, &since);
        let authors: BTreeSet<&String> = posts.values().map(|(author, _)| author).collect();
        let likes: u64 = posts.values().map(|(_, likes)| likes).sum();
        if everybody.len() == PEOPLE && posts.len() >= 5 && authors.len() >= 3 && likes >= 3 {
            break posts;
        }
        let seen = format!("{} people, {} authors, {likes} likes", everybody.len(), authors.len());
        assert!(start.elapsed() < Duration::from_secs(90), "{seen} and {} posts", posts.len());
        std::thread::sleep(Duration::from_millis(500));
    };
    let minutes = start.elapsed().as_secs() as usize / 60 + 1;
    assert!(posts.len() <= minutes * PER_MINUTE, "{} posts in {minutes} minutes", posts.len());
    // somebody who signs in as one of these two acts alone
    assert!(posts.values().all(|(author, _)| author != "ash" && author != "birch"), "{posts:?}");

    up.signal("-INT");
    assert_eq!(up.end_within(Duration::from_secs(20)), Some(0));
    for server in ["  API", "  AWS", "  Valkey"] {
        let url = last_word(&lines, server);
        assert!(!listens(&url), "{url} still listens");
    }
    let said = std::fs::read_to_string(&log).expect("what it printed");
    assert!(said.contains("8 of 8 more demo users"), "{said}");
    let summary = said.lines().find(|line| line.starts_with("Calls of the demo users: "));
    assert!(
        summary.is_some_and(|line| line.contains(" posts") && line.contains(" likes")),
        "{said}"
    );
    std::fs::remove_file(log).expect("the file");
}
