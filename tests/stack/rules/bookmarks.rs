//! Bookmarks, one rule at a time, through the real handlers.

use fanfold_core::PostId;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::marks::{self, MarkKind};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::{Error, posts};

use crate::harness::world::World;

async fn bookmark(world: &World, user: &str, post: PostId) -> Result<(), Error> {
    let (app, caller, now) = (&world.app, world.identity(user), world.now());
    marks::put(app, &caller, MarkKind::Bookmark, post, true, now).await
}

/// The list of a user's bookmarks, in one page.
async fn list(world: &World, user: &str) -> Vec<PostId> {
    let (viewer, reading) = (Viewer::of(world.id(user)), ReadContext::new(world.now()));
    let page = marks::marked(&world.app, &viewer, MarkKind::Bookmark, None, 100, &reading).await;
    page.expect("a page").items.iter().map(|shown| shown.post.id).collect()
}

/// The number of a user's bookmarks in DynamoDB: those that are listed, and those by post.
async fn stored(world: &World, user: &str) -> [usize; 2] {
    let (marks, user) = (MarkKind::Bookmark.of(&world.app), world.id(user));
    let rows = marks.of_user(user, None, 200).await.expect("rows");
    [rows.len(), marks.newest(user, 200).await.expect("marks").len()]
}

#[tokio::test]
async fn the_bookmark_of_a_post_that_is_gone_is_removed_when_its_user_reads() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let mut all = Vec::new();
    for n in 0..21 {
        all.push(world.publish("ash", &n.to_string()).await);
        for user in ["birch", "cedar"] {
            bookmark(&world, user, all[n]).await.expect("bookmarked");
        }
        world.advance(std::time::Duration::from_millis(2));
    }
    for post in &all[..20] {
        world.delete("ash", *post).await;
    }
    world.drain().await;
    assert_eq!(stored(&world, "birch").await, [21, 21], "a post does not know its bookmarks");
    // a request removes some, and never shows one
    let lengths = [[5, 5], [1, 1], [1, 1]];
    for length in lengths {
        assert_eq!(list(&world, "birch").await, [all[20]]);
        assert_eq!(stored(&world, "birch").await, length);
    }
    assert_eq!(stored(&world, "cedar").await, [21, 21], "of another user");
    world.drain().await;
    let shown = posts::read(&world.app, &Viewer::of(world.id("birch")), all[20], world.now()).await;
    assert!(shown.expect("the post").marks.has(MarkKind::Bookmark));
}

#[tokio::test]
async fn bookmarks_of_hidden_authors_stay() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    bookmark(&world, "birch", post).await.expect("bookmarked");
    let mut viewer = Viewer::of(world.id("birch"));
    viewer.hidden.insert(world.id("ash"));
    let reading = ReadContext::new(world.now());
    let page = marks::marked(&world.app, &viewer, MarkKind::Bookmark, None, 10, &reading).await;
    assert_eq!(page.expect("a page").items, []);
    assert_eq!(list(&world, "birch").await, [post]);
}

#[tokio::test]
async fn bookmarks_go_with_their_user() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    bookmark(&world, "birch", post).await.expect("bookmarked");
    assert_eq!(list(&world, "birch").await, [post]);
    world.drop_user("birch").await;
    world.drain().await;
    assert_eq!(stored(&world, "birch").await, [0, 0]);
}
