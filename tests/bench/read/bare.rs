//! The lower limit of a read: the bare commands that every reader of a live feed has to send, for the page with its
//! texts, and for the part of the page in Valkey.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use fanfold_core::limits::BUCKETS_DEFAULT;
use fanfold_core::{Bucket, PostId, UserId, order};
use fanfold_engines::valkey::{Access, Address, CardId, Key, Keys, Link};
use futures::future::join_all;
use redis::{Cmd, RedisResult};

use super::LIMIT;
use crate::emulator::Emulator;
use crate::server::{Server, home};

/// The commands that every reader of a live feed has to send.
pub struct Bare {
    dynamo: aws_sdk_dynamodb::Client,
    link: Link,
    keys: Keys,
    posts_table: String,
    users_table: String,
    seen: Cmd,
    entries: Cmd,
}

impl Bare {
    pub fn new(emulator: &Emulator, server: &Server, reader: UserId) -> Self {
        let config = server.config();
        let address = Address::parse(&server.url()).expect("an address");
        let (keys, feed) = (Keys::new(BUCKETS_DEFAULT), home(reader));
        let live = keys.live(reader.bucket(BUCKETS_DEFAULT));
        Self {
            dynamo: aws_sdk_dynamodb::Client::new(&emulator.sdk()),
            link: Link::to(address, Access::default()).expect("a link"),
            keys,
            posts_table: config.text("POSTS_TABLE").expect("a table"),
            users_table: config.text("USERS_TABLE").expect("a table"),
            seen: redis::cmd("ZSCORE").arg(live).arg(&feed).to_owned(),
            entries: redis::cmd("ZRANGE").arg(&feed).arg(1).arg(LIMIT + 1).to_owned(),
        }
    }

    /// The time of the last read of the feed, and its first entries.
    pub async fn seen_and_entries(&self) -> (Option<f64>, Vec<Vec<u8>>) {
        let (mut first, mut second) = (self.link.clone(), self.link.clone());
        let (seen, entries): (RedisResult<Option<f64>>, RedisResult<Vec<Vec<u8>>>) = futures::join!(
            self.seen.query_async(&mut first),
            self.entries.query_async(&mut second)
        );
        (seen.expect("a score"), entries.expect("entries"))
    }

    /// The first posts of the feed.
    pub async fn posts(&self) -> Vec<PostId> {
        let (_, entries) = self.seen_and_entries().await;
        entries.iter().filter_map(|member| order::post(member)).collect()
    }

    /// Reads the cards of posts and of their authors. Returns the number of cards found.
    pub async fn cards(&self, posts: &[PostId]) -> usize {
        let mut buckets: BTreeMap<Bucket, Vec<Key>> = BTreeMap::new();
        let ids = posts.iter().map(|post| CardId::post(*post));
        for id in ids.chain(authors(posts).into_iter().map(CardId::user)) {
            buckets.entry(self.keys.bucket_of_card(id)).or_default().push(self.keys.card(id));
        }
        let reads = buckets.values().map(async |keys| {
            let mut link = self.link.clone();
            let cards: RedisResult<Vec<Option<Vec<u8>>>> =
                redis::cmd("MGET").arg(keys).query_async(&mut link).await;
            cards.expect("cards").iter().flatten().count()
        });
        join_all(reads).await.iter().sum()
    }

    /// Reads the items of posts and of their authors. Returns the numbers of items found.
    pub async fn items(&self, posts: &[PostId]) -> (usize, usize) {
        let post_keys = posts.iter().map(|post| {
            HashMap::from([
                ("pk".to_owned(), AttributeValue::S(post.author().to_string())),
                ("sk".to_owned(), AttributeValue::S(post.to_string())),
            ])
        });
        let authors = authors(posts).into_iter().map(|author| {
            HashMap::from([("pk".to_owned(), AttributeValue::S(format!("user#{author}")))])
        });
        futures::join!(
            batch(&self.dynamo, &self.posts_table, post_keys.collect()),
            batch(&self.dynamo, &self.users_table, authors.collect())
        )
    }
}

fn authors(posts: &[PostId]) -> BTreeSet<UserId> {
    posts.iter().map(|post| post.author()).collect()
}

/// Reads items with one BatchGetItem. Returns the number of items found.
async fn batch(
    dynamo: &aws_sdk_dynamodb::Client,
    table: &str,
    keys: Vec<HashMap<String, AttributeValue>>,
) -> usize {
    let wanted = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true);
    let wanted = wanted.build().expect("keys");
    let answer = dynamo.batch_get_item().request_items(table, wanted).send().await;
    answer.expect("items").responses.expect("items")[table].len()
}
