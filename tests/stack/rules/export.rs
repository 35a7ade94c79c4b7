//! The export of a user, page by page.

use std::collections::BTreeSet;

use fanfold_kinds::export::{ExportPlace, export};
use serde_json::Value;

use crate::harness::world::World;

/// All lines of the export of a user.
async fn lines(world: &World, name: &str) -> Vec<Value> {
    let (mut lines, mut from) = (Vec::new(), Some(ExportPlace::FIRST));
    while let Some(place) = from {
        // a place is kept as a text between two pages
        let place = place.to_string().parse().expect("a place");
        let page = export(&world.app, world.id(name), place, world.now()).await.expect("a page");
        lines.extend(
            page.lines
                .iter()
                .map(|line| serde_json::from_str::<Value>(line.as_str()).expect("JSON")),
        );
        from = page.next;
    }
    lines
}

/// More items of a kind than a page has: each has one line.
#[tokio::test]
async fn pages_of_an_export_have_no_gaps_and_no_repetitions() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let mut posts = BTreeSet::new();
    for n in 0..130 {
        let post = world.publish("birch", &n.to_string()).await;
        world.like("ash", post).await;
        world.advance(std::time::Duration::from_millis(2));
        posts.insert(post.to_string());
    }
    world.follow("ash", "birch").await;
    for (name, kind, key) in [("birch", "post", "id"), ("ash", "like", "post")] {
        let lines = lines(&world, name).await;
        let found: Vec<&str> = lines
            .iter()
            .filter(|line| line["type"] == kind)
            .filter_map(|line| line[key].as_str())
            .collect();
        assert_eq!(found.len(), 130, "{kind}");
        assert_eq!(found.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>(), posts);
    }
    let of_ash = lines(&world, "ash").await;
    let following: Vec<&Value> = of_ash.iter().filter(|line| line["type"] == "following").collect();
    assert_eq!(following.len(), 1);
    assert_eq!(following[0]["user"], world.id("birch").to_string());
    assert!(of_ash.iter().all(|line| line["type"] != "post"));
}
