//! The rules that keep a feed right, one by one, through the real handlers.

mod about;
mod admin;
mod audit;
mod author_first;
mod boards;
mod bookmarks;
mod cache;
mod cards;
mod coalesce;
mod commit;
mod continuation;
mod counts;
pub mod doctor;
mod due;
mod edits;
mod entities;
mod export;
mod floor;
pub mod full;
mod heads;
mod likes;
mod limits;
mod memory;
mod older;
mod pages;
mod pulled;
mod rankings;
mod rebuild;
mod relations;
mod replies;
mod retries;
mod stores;
mod sweep;
mod tag_costs;
mod tags;
mod valkey_limits;
mod viewer;
mod webhook;

use fanfold_core::{FeedId, PostId, Time};
use fanfold_kinds::people::items::{HeadBounds, Heads};
use fanfold_kinds::posts::entities::Entities;
use fanfold_kinds::posts::items::{Created, Post};
use fanfold_runtime::clock;
use fanfold_runtime::sqs::Announced;

use crate::harness::world::World;

/// Stores a post and changes no feed, as if the function `posts` died after the commit.
async fn store_without_delivery(world: &World, author: &str) -> PostId {
    store_without_delivery_at(world, author, world.now()).await
}

async fn store_without_delivery_at(world: &World, author: &str, time: Time) -> PostId {
    let id = PostId::new(time, clock::random() as u16, world.id(author));
    let post = Post::new(id, "late", Entities::default());
    let (app, identity, sent) = (&world.app, world.identity(author), Announced::assumed());
    let profile = app.users.profile(identity.user()).await.unwrap();
    let heads = profile.map_or(Heads::EMPTY, |profile| profile.heads);
    let users = (&app.users, HeadBounds::USUAL, &heads);
    let created =
        app.posts.create(sent, users, &identity, (&post, &app.replies), None, world.now()).await;
    assert_eq!(created.unwrap(), Created::Created);
    id
}

/// The number of members of a home feed in Valkey. The floor and the memory are members, too.
async fn members(world: &World, name: &str) -> u64 {
    let key = world.app.valkey.keys().feed(FeedId::home(world.id(name)));
    redis::cmd("ZCARD").arg(key).query_async(&mut world.redis().await).await.unwrap()
}
