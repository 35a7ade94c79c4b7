//! What users say about themselves: every reader sees it with the next request, and no change is lost.

use std::time::Duration;

use fanfold_core::UserRef;
use fanfold_core::content::Link;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::people::about::{About, AboutChange};
use fanfold_kinds::people::{self, NewProfile};
use fanfold_kinds::present::{self, Viewer};

use crate::harness::world::World;

fn bio(text: &str) -> AboutChange {
    AboutChange::new(Some(text), None, None).expect("a bio")
}

fn link(url: &str) -> AboutChange {
    let link = Link { label: String::new(), url: url.to_owned() };
    AboutChange::new(None, Some(vec![link]), None).expect("a link")
}

async fn say(world: &World, app: &App, about: AboutChange) {
    let (ash, now) = (world.identity("ash"), world.now());
    let new = NewProfile { name: "ash", about };
    people::put_profile(app, &ash, "ash", new, now).await.expect("changed");
}

/// What birch sees.
async fn seen(world: &World) -> About {
    let (viewer, reading) = (Viewer::of(world.id("birch")), ReadContext::new(world.now()));
    let ash = UserRef::Handle("ash".parse().expect("a handle"));
    present::profile(&world.app, &viewer, &ash, &reading).await.expect("a profile").about
}

#[tokio::test]
async fn the_next_request_shows_what_a_user_says() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    assert!(seen(&world).await.is_empty());
    for text in ["one", "two", ""] {
        say(&world, &world.app, bio(text)).await;
        assert_eq!(seen(&world).await.bio, text);
    }
    // a change of the name leaves it
    say(&world, &world.app, bio("three")).await;
    world.rename("ash", "ash", "Other").await;
    assert_eq!(seen(&world).await.bio, "three");
    // the event of a writer that could not mark the card does so
    world.drain().await;
    assert_eq!(seen(&world).await.bio, "three");
    let config = world.config_with_one("REDIS_URL", "redis://127.0.0.1:1");
    let without_valkey = App::new(&world.sdk, &config).expect("the stores");
    say(&world, &without_valkey, bio("four")).await;
    assert_eq!(seen(&world).await.bio, "three", "nobody has marked the card");
    // a repeated request does so, too
    say(&world, &world.app, bio("four")).await;
    assert_eq!(seen(&world).await.bio, "four");
    world.drain().await;
    assert_eq!(seen(&world).await.bio, "four");
    say(&world, &without_valkey, bio("five")).await;
    assert_eq!(seen(&world).await.bio, "four", "nobody has marked the card");
    world.drain().await;
    assert_eq!(seen(&world).await.bio, "five");
}

#[tokio::test]
async fn changes_of_different_fields_at_the_same_time_are_both_kept() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    for number in 0..8 {
        let (text, url) = (format!("bio {number}"), format!("https://example.com/{number}"));
        world.advance(Duration::from_secs(1));
        futures::join!(say(&world, &world.app, bio(&text)), say(&world, &world.app, link(&url)));
        let About { bio, links, .. } = seen(&world).await;
        assert_eq!((bio, links[0].url.clone()), (text, url));
    }
}
