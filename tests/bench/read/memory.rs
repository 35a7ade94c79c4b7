//! The memory of a card in Valkey: its key and value, and its entries in the queue of its bucket.
//!
//! The card of a post of 80 characters takes 201 bytes among 10,000 cards: 177 for the key (`MEMORY USAGE`), and 24 for its
//! entry in the queue. The card of a user takes 154. The server's memory grows by 225 bytes for each card of a post.

use fanfold_core::limits::BUCKETS_DEFAULT;
use fanfold_core::{PostId, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{CardId, Key, Keys};
use fanfold_kinds::present;
use fanfold_runtime::clock::now;

use super::Stores;
use crate::emulator::Emulator;
use crate::report::{Report, short, thousands};
use crate::server::Server;
use crate::{Pace, people};

const POSTS_EACH: usize = 10;
/// The number of posts that are read at the same time.
const BATCH: usize = 100;

pub fn of_cards(pace: &Pace, report: &mut Report) {
    let count = if pace.quick { 2_000 } else { 10_000 };
    let (emulator, mut server) = (Emulator::default(), Server::start());
    let (stores, runtime) = (Stores::new(&emulator, &server), crate::runtime());
    let (authors, posts) = put_posts(&emulator, count);
    let reading = ReadContext::new(now());
    for authors in authors.chunks(BATCH) {
        runtime.block_on(present::users(&stores.app, authors, &reading)).expect("users");
    }
    let before = server.memory_bytes();
    for posts in posts.chunks(BATCH) {
        runtime
            .block_on(present::all_posts(
                &stores.app,
                None,
                posts,
                &present::Cards::new(),
                &reading,
            ))
            .expect("posts");
    }
    let grown = (server.memory_bytes() - before) / count as f64;
    let keys = Keys::new(BUCKETS_DEFAULT);
    let keys_of = |ids: Vec<CardId>| ids.iter().map(|id| keys.card(*id)).collect::<Vec<Key>>();
    let post_keys = keys_of(posts.iter().map(|post| CardId::post(*post)).collect());
    let user_keys = keys_of(authors.iter().map(|user| CardId::user(*user)).collect());
    let post_bytes = bytes_of(&mut server, &post_keys) / count as f64;
    let user_bytes = bytes_of(&mut server, &user_keys) / authors.len() as f64;
    let queues = Queues::read(&mut server, keys);
    let post_share = queues.bytes_per_entry * queues.post_entries / count as f64;
    let user_share = queues.bytes_per_entry * queues.user_entries / authors.len() as f64;
    let row = |name: &str, key: f64, queue: f64| {
        vec![name.to_owned(), short(key), short(queue), short(key + queue)]
    };
    let rows = vec![row("post", post_bytes, post_share), row("user", user_bytes, user_share)];
    let title = format!(
        "read: bytes of a card, among {} cards of posts of 80 characters (the server's memory grew by {} for each)",
        thousands(count as f64),
        short(grown)
    );
    report.table("read_cards", &title, &["card", "key", "share of the queue", "together"], rows);
    report.set("bytes_per_card", post_bytes + post_share);
    report.set("bytes_per_card_user", user_bytes + user_share);
    report.set("bytes_per_card_grown", grown);
}

/// Puts posts of 80 characters and their authors.
fn put_posts(emulator: &Emulator, count: usize) -> (Vec<UserId>, Vec<PostId>) {
    assert_eq!(people::TEXT.chars().count(), 80);
    let authors: Vec<UserId> = (0..(count / POSTS_EACH) as u64).map(people::author).collect();
    let (now, mut posts) = (now(), Vec::new());
    for author in &authors {
        people::put_profile(emulator, *author, 1, 1);
        posts.extend((0..POSTS_EACH).map(|number| PostId::new(now, number as u16, *author)));
    }
    posts.iter().for_each(|post| people::put_post(emulator, *post));
    (authors, posts)
}

/// The bytes of these keys, as the server estimates them. All of them must exist.
fn bytes_of(server: &mut Server, keys: &[Key]) -> f64 {
    let usage =
        |key: &Key| redis::cmd("MEMORY").arg("USAGE").arg(key).arg("SAMPLES").arg(0).clone();
    keys.iter().map(|key| server.query::<Option<f64>>(&usage(key)).expect("a card")).sum()
}

/// The queues of all buckets.
struct Queues {
    bytes_per_entry: f64,
    post_entries: f64,
    user_entries: f64,
}

impl Queues {
    fn read(server: &mut Server, keys: Keys) -> Self {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut used = Vec::new();
        for queue in keys.all_buckets().map(|bucket| keys.cards(bucket)) {
            let range = redis::cmd("LRANGE").arg(&queue).arg(0).arg(-1).clone();
            let entries: Vec<Vec<u8>> = server.query(&range);
            if !entries.is_empty() {
                used.push(queue);
            }
            names.extend(entries);
        }
        let of = |kind: u8| names.iter().filter(|name| name.first() == Some(&kind)).count() as f64;
        Self {
            bytes_per_entry: bytes_of(server, &used) / names.len() as f64,
            post_entries: of(b'p'),
            user_entries: of(b'u'),
        }
    }
}
