//! Edits of posts: versions, their order, and what every reader sees.

use std::time::Duration;

use fanfold_core::content::Data;
use fanfold_core::limits::VERSIONS_MAX;
use fanfold_core::{FeedId, PostId};
use fanfold_engines::feed::Source;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::home::Span;
use fanfold_kinds::posts::extras::ExtrasChange;
use fanfold_kinds::posts::items::Version;
use fanfold_kinds::posts::{self, PostEdit};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::{App, Error};
use serde_json::value::RawValue;

use crate::harness::world::World;

async fn edit_in(
    world: &World,
    app: &App,
    post: PostId,
    text: &str,
    only: Option<&[u64]>,
) -> Result<u64, Error> {
    world.advance(Duration::from_millis(1));
    let (ash, now) = (world.identity("ash"), world.now());
    let shown = posts::edit(app, &ash, post, text, only, now).await?;
    assert_eq!(shown.post.text, text, "the answer shows the edit");
    Ok(shown.post.version)
}

async fn edit(world: &World, post: PostId, text: &str, only: Option<&[u64]>) -> Result<u64, Error> {
    edit_in(world, &world.app, post, text, only).await
}

async fn history(world: &World, post: PostId) -> Vec<Version> {
    let (viewer, reading) = (Viewer::of(world.id("birch")), ReadContext::new(world.now()));
    posts::history(&world.app, &viewer, post, &reading).await.expect("versions")
}

/// The newest post of a feed of birch, as birch sees it.
async fn newest(world: &World) -> (String, u64, Source) {
    let page = world.page(FeedId::home(world.id("birch")), Span::ALL, 1).await;
    let post = page.posts[0].post.clone();
    (post.text, post.version, page.source)
}

#[tokio::test]
async fn every_reader_sees_an_edit_with_the_next_request() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let post = world.publish("ash", "one").await;
    world.drain().await;
    newest(&world).await;
    assert_eq!(newest(&world).await, ("one".to_owned(), 1, Source::Cache));
    assert_eq!(edit(&world, post, "two", None).await.expect("edited"), 2);
    assert_eq!(newest(&world).await, ("two".to_owned(), 2, Source::Cache));
    // what does not come from the cache
    world.forget(&["birch"]).await;
    assert_eq!(newest(&world).await, ("two".to_owned(), 2, Source::Rebuild));
    // counters and marks are no versions, and stay
    world.like("birch", post).await;
    world.reply("birch", post).await;
    world.drain().await;
    let read = async || {
        let viewer = Viewer::of(world.id("birch"));
        posts::read(&world.app, &viewer, post, world.now()).await.expect("a post").post
    };
    assert_eq!((read().await.likes, read().await.replies, read().await.version), (1, 1, 2));
    assert_eq!(edit(&world, post, "three", Some(&[2])).await.expect("edited"), 3);
    assert_eq!((read().await.likes, read().await.replies, read().await.version), (1, 1, 3));
    // the same text is no new version
    assert_eq!(edit(&world, post, "three", None).await.expect("the same"), 3);
    let versions = history(&world, post).await;
    let texts: Vec<_> = versions.iter().map(|one| (one.number, one.text.as_str())).collect();
    assert_eq!(texts, [(3, "three"), (2, "two"), (1, "one")]);
    assert_eq!(versions[2].written_at, post.time());
    assert!(versions[0].written_at > versions[1].written_at);
}

#[tokio::test]
async fn an_edit_is_refused_unless_the_post_is_as_the_author_read_it() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "one").await;
    edit(&world, post, "two", Some(&[1])).await.expect("edited");
    for only in [&[1_u64][..], &[], &[3]] {
        let refused = edit(&world, post, "three", Some(only)).await;
        assert!(matches!(refused, Err(Error::OtherVersion { version: 2 })), "{refused:?}");
    }
    let of_birch = world.publish("birch", "text").await;
    let refused = edit(&world, of_birch, "mine", None).await;
    assert!(matches!(refused, Err(Error::NotYours { .. })), "{refused:?}");
    // what is beside the text makes versions, too, and leaves the rest
    let data = RawValue::from_string(r#"{"b":1.0,"a":[]}"#.to_owned()).expect("JSON");
    let data = Some(Data::new(&data).expect("an object"));
    let change = || ExtrasChange::new(Some(data.clone()), None).expect("allowed");
    for _ in 0..2 {
        let (ash, now) = (world.identity("ash"), world.now());
        let edit = PostEdit { text: None, extras: change() };
        let shown = posts::edit(&world.app, &ash, post, edit, None, now).await.expect("edited");
        assert_eq!((shown.post.version, shown.post.text.as_str()), (3, "two"));
        assert_eq!(shown.post.extras.data(), data.as_ref());
    }
    // several at the same time: each is a version, in some order
    let edits = (0..8).map(|number| {
        let (world, text) = (&world, format!("edit {number}"));
        async move { edit(world, post, &text, None).await.expect("edited") }
    });
    let mut made = futures::future::join_all(edits).await;
    made.sort_unstable();
    assert_eq!(made, (4..=11).collect::<Vec<_>>());
    let versions = history(&world, post).await;
    assert!(versions.is_sorted_by(|a, b| a.written_at >= b.written_at), "{versions:?}");
    assert_eq!((versions.len(), versions[0].extras.data()), (11, data.as_ref()));
    assert_eq!((versions[9].number, versions[9].extras.data()), (2, None));
    for number in 12..=VERSIONS_MAX {
        edit(&world, post, &format!("version {number}"), None).await.expect("edited");
    }
    let refused = edit(&world, post, "too many", None).await;
    assert!(matches!(refused, Err(Error::VersionsLimit { max: VERSIONS_MAX })), "{refused:?}");
    assert_eq!(history(&world, post).await.len() as u64, VERSIONS_MAX);
    // a deletion takes the versions with it
    world.delete("ash", post).await;
    let refused = edit(&world, post, "gone", None).await;
    assert!(matches!(refused, Err(Error::NoSuchPost(_))), "{refused:?}");
    world.drain().await;
    assert_eq!(world.app.posts.versions(post).await.expect("read"), []);
}

#[tokio::test]
async fn a_handle_that_is_bound_keeps_its_user() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let post = world.publish("ash", "@birch and @later").await;
    let entities = async || {
        let viewer = Viewer::of(world.id("birch"));
        let shown = posts::read(&world.app, &viewer, post, world.now()).await.expect("a post");
        String::from(shown.post.entities)
    };
    let birch = world.id("birch");
    assert_eq!(entities().await, format!("0-6@{birch}"));
    world.rename("birch", "birch_2", "Birch").await;
    world.rename("cedar", "birch", "Cedar").await;
    world.people(&["later"]).await;
    edit(&world, post, "Now @birch, @later and @birch_2 #tag", None).await.expect("edited");
    let later = world.id("later");
    assert_eq!(entities().await, format!("4-10@{birch} 12-18@{later} 23-31@{birch} 32-36#tag"));
}

/// A writer dies after its commit, before it marks the card. The event does so.
#[tokio::test]
async fn the_event_of_a_dead_writer_marks_the_card() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let post = world.publish("ash", "one").await;
    world.drain().await;
    newest(&world).await;
    let config = world.config_with_one("REDIS_URL", "redis://127.0.0.1:1");
    let without_valkey = App::new(&world.sdk, &config).expect("the stores");
    edit_in(&world, &without_valkey, post, "two", None).await.expect("edited");
    assert_eq!(newest(&world).await.0, "one", "nobody has marked the card");
    world.drain().await;
    assert_eq!(newest(&world).await.0, "two");
}
