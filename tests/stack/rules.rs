//! The rules that keep a feed right, one by one, through the real handlers.

mod admin;
mod audit;
mod author_first;
mod cache;
mod coalesce;
mod commit;
mod continuation;
pub mod doctor;
mod floor;
mod full;
mod letters;
mod memory;
mod pages;
mod pulled;
mod rebuild;
mod relations;
mod sweep;
mod valkey_limits;

use fanfold_core::PostId;
use fanfold_store::clock;
use fanfold_store::dynamo::posts::{Created, Post};
use fanfold_store::valkey::Feed;

use crate::harness::world::World;

/// Stores a post as the posts function does, which then dies: no feed was touched.
async fn only_stored(world: &World, author: &str) -> PostId {
    only_stored_at(world, author, world.now()).await
}

async fn only_stored_at(world: &World, author: &str, time_ms: u64) -> PostId {
    let id = PostId::new(time_ms, clock::random() as u16, world.id(author));
    let post = Post { id, text: "late".to_owned() };
    let (table, identity) = (world.posts.users.table(), world.identity(author));
    let created = world.posts.posts.create(table, &identity, &post, None, world.now()).await;
    assert_eq!(created.unwrap(), Created::Created);
    id
}

/// How many members a home feed has in Valkey, its floor and its memory included.
async fn members(world: &World, name: &str) -> u64 {
    let key = world.timeline.feeds.valkey.keys().feed(Feed::home(world.id(name)));
    redis::cmd("ZCARD").arg(key).query_async(&mut world.redis().await).await.unwrap()
}
