//! A function uses the tables and queues alone that it lists in the registry.

use fanfold_core::registry::{FUNCTIONS, FunctionSpec};
use fanfold_core::{PostId, UserId};
use fanfold_kinds::App;
use fanfold_kinds::likes::messages::CountLikes;
use fanfold_kinds::marks::MarkKind;
use fanfold_runtime::StoreError;

use crate::harness::world::World;

fn app_of(world: &World, function: &'static FunctionSpec) -> App {
    let config = world.config.clone().of(function);
    App::new(&world.sdk, &config).unwrap_or_else(|error| panic!("{}: {error}", function.name))
}

fn named(error: StoreError) -> String {
    match error {
        StoreError::Unlisted { source, .. } => source.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Reads, writes and transactions of an unlisted table fail, and so does a message to an unlisted queue. The error names the
/// function and the setting.
#[tokio::test]
async fn a_store_that_a_function_does_not_list_is_refused() {
    let (world, user, post) = (World::new().await, UserId(1), PostId::MAX);
    for function in FUNCTIONS.iter().filter(|function| function.name != "webhook") {
        let (app, lists) = (app_of(&world, function), function.own_settings());
        let (has, marks) = (|name: &str| lists.contains(&name), MarkKind::Like.of(&app));
        let read = marks.mark(user, post).await;
        let rows = marks.newest(user, 1).await;
        let several = marks.among(user, &[post]).await;
        let write = app.pulled.release(user).await;
        let send = app.outbox.send(&CountLikes { post }).await;
        for (setting, done) in [
            ("MARKS_TABLE", read.map(drop)),
            ("MARKS_TABLE", rows.map(drop)),
            ("MARKS_TABLE", several.map(drop)),
            ("USERS_TABLE", write),
            ("CHANGE_EVENTS_QUEUE_URL", send),
        ] {
            let name = function.name;
            match done {
                Ok(()) => assert!(has(setting), "{name} uses {setting}, and does not list it"),
                Err(error) => {
                    let said = named(error);
                    assert!(
                        !has(setting) && said.contains(name) && said.contains(setting),
                        "{said}"
                    );
                }
            }
        }
    }
}
