//! Texts and sizes that SQS or DynamoDB refuses, whenever they are sent.

use std::time::Duration;

use fanfold_core::message::Received as _;
use fanfold_core::registry::TIMER_EVENTS;
use fanfold_engines::due::{HandOn, Handled, ItemDue};
use fanfold_kinds::due::handle;
use fanfold_kinds::timers::items::Timer;
use fanfold_kinds::timers::messages::TimerFired;
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_runtime::StoreError;
use serde_json::{Value, json};

use super::apps::{Apps, PEOPLE, START, identity, with_people};

/// Runs a test with a new timer, which is due in a minute.
fn with_timer(payload: &Value, test: impl AsyncFn(&Apps, Timer)) {
    with_people(async |apps| {
        let due_at = START + Duration::from_secs(60);
        let new = NewTimer { due_at, every: None, payload: payload.clone() };
        let (owner, name) = (identity(PEOPLE[0]), "renew".parse().expect("a name"));
        let put = timers::put(&apps.app, &owner, &name, new, START).await;
        test(apps, put.expect("a timer").0).await;
    });
}

#[test]
fn every_character_of_a_payload_arrives() {
    let payload = json!({"\u{fffe}name\u{ffff}": ["\u{ffff}", "\u{fffe}", "\u{0}\\uffff \u{1f}"]});
    with_timer(&payload, async |apps, timer| {
        let message = ItemDue::new(timer.entry());
        let handled = handle(&apps.app, &message, timer.due_at).await;
        assert_eq!(handled.expect("handled"), Handled::Done);
        let cloud = apps.cloud.lock();
        let mut fired = cloud.sent.iter().filter(|(queue, _)| queue == "timer-events");
        let (_, body) = fired.next().expect("a message");
        assert!(!body.contains(['\u{fffe}', '\u{ffff}']), "{body:?}");
        let fired = TimerFired::decode(body).expect("a message");
        assert_eq!(fired.payload, payload);
    });
}

#[test]
fn an_item_that_is_too_large_is_refused_at_once() {
    with_timer(&json!(1), async |apps, old| {
        let payload = json!("x".repeat(500_000)).to_string();
        let due_at = START + Duration::from_secs(3_600);
        let new = Timer { payload, due_at, revision: "large".to_owned(), ..old.clone() };
        let later = HandOn::without_message(&new.entry(), START).expect("due later");
        let (users, owner) = (&apps.app.users, identity(PEOPLE[0]));
        let put = apps.app.timers.put_timer(&later, users, &owner, Some(&old), &new).await;
        let error = put.map(drop).expect_err("too large");
        assert!(error.is_lasting(), "{error:?}");
    });
}

#[test]
fn a_message_that_is_too_large_is_refused_at_once() {
    with_timer(&json!(1), async |apps, timer| {
        let outbox = &apps.app.outbox;
        let payload = json!("x".repeat(300_000));
        let fired = TimerFired::new((timer.owner, timer.name), "1", timer.due_at, 0, payload);
        let refused = |sent: Result<(), StoreError>| {
            let error = sent.expect_err("too large");
            assert!(error.is_lasting(), "{error:?}");
        };
        refused(outbox.send(&fired).await);
        // the others of its batch are sent
        let small = TimerFired { payload: json!(1), ..fired.clone() };
        refused(outbox.send_all_on(TIMER_EVENTS, &[small.clone(), fired, small]).await);
        let sent = &apps.cloud.lock().sent;
        assert_eq!(sent.iter().filter(|(queue, _)| queue == "timer-events").count(), 2);
    });
}
