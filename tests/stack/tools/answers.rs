//! The answers of the functions to their events in `tests/events`.

use fanfold_core::registry::{FUNCTIONS, FunctionSpec, Trigger};
use serde_json::{Value, json};

/// Every function. The one that makes the events' user a profile comes first, and the others that answer requests
/// come before those that work with what they wrote.
pub fn in_order() -> Vec<&'static FunctionSpec> {
    let mut functions: Vec<_> = FUNCTIONS.iter().collect();
    functions.sort_by_key(|function| match function.trigger {
        Trigger::Http if function.name == "users" => 0,
        Trigger::Http => 1,
        Trigger::Queues(_) | Trigger::Schedule => 2,
        Trigger::Operator => 3,
    });
    functions
}

/// Checks a function's answer to its event, which `handle` sent.
pub fn check(function: &FunctionSpec, handle: &str, answer: &Value) {
    let what = format!("{}: {answer}", function.name);
    match function.trigger {
        Trigger::Http => {
            assert!([200, 201].map(Value::from).contains(&answer["statusCode"]), "{what}");
        }
        // each event of a queue has a message of the id `bad`, which cannot be read
        Trigger::Queues(_) => {
            assert_eq!(
                *answer,
                json!({"batchItemFailures": [{"itemIdentifier": "bad"}]}),
                "{what}"
            );
        }
        Trigger::Schedule | Trigger::Operator => {
            assert!(answer.as_object().is_some_and(|fields| !fields.is_empty()), "{what}");
            assert!(answer.get("errorMessage").is_none(), "{what}");
        }
    }
    match function.name {
        "users" => assert_eq!(body(answer)["handle"], handle, "{what}"),
        "posts" => assert_eq!(body(answer)["text"], "Hello from an event", "{what}"),
        "boards" => assert_eq!(body(answer)["name"], "a game", "{what}"),
        "timers" => assert_eq!(body(answer)["payload"]["plan"], "pro", "{what}"),
        "lookahead" => {
            assert!(answer["handed_on"].is_u64() && answer["overdue"].is_u64(), "{what}")
        }
        "audit" => assert!(answer["checked"].is_u64() && answer["differed"] == 0, "{what}"),
        "sweep" => assert!(answer["dropped"].is_u64() && answer["remaining"].is_u64(), "{what}"),
        "admin" => {
            assert!(answer["home"]["entries"].is_u64() && answer["handle"] == handle, "{what}");
        }
        _ => {}
    }
}

/// The JSON in the body of an HTTP answer.
pub fn body(answer: &Value) -> Value {
    serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON")
}
