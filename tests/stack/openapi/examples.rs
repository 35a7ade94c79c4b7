//! The examples of the API description are true: they are played with the deployed stack, and match the schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use fanfold_core::Time;
use fanfold_runtime::clock;
use fanfold_web::examples::{Compare, ExampleStep, Examples, Values, fill, fill_all, name_in};
use serde_json::{Value, json};

use super::{api, each_operation};
use crate::harness::client::{Answer, Client};

/// Answers that only a Valkey that does not answer would cause.
const NOT_SHOWN: [(&str, &str); 3] =
    [("change_members", "202"), ("set_scores", "202"), ("add_to_scores", "202")];

fn examples() -> Examples {
    Examples::read().expect("examples.json")
}

/// The method and the path of an operation.
fn route<'a>(api: &'a Value, id: &str) -> (String, &'a Value) {
    let found = each_operation(api).into_iter().find(|(_, each)| each["operationId"] == id);
    found.unwrap_or_else(|| panic!("no operation is called {id}"))
}

/// Compares a real answer with the shown one. A name without a value gets the real value.
fn compare(
    shown: &Value,
    real: &Value,
    step: &ExampleStep,
    samples: &Values,
    values: &mut Values,
) -> Result<(), String> {
    let wrong = format!("{real} instead of {}", fill(shown, values));
    let differs = || Err(wrong.clone());
    let form = step.compare == Compare::Form;
    if let Some(name) = shown.as_str().and_then(name_in) {
        let sample = samples.get(name).ok_or_else(|| format!("{name} has no sample"))?;
        // a value that may be null has the sample null
        if !sample.is_null() && kind(sample) != kind(real) {
            return differs();
        }
        let value = values.entry(name).or_insert_with(|| real.clone());
        return if value == real || form { Ok(()) } else { differs() };
    }
    match (shown, real) {
        (Value::Array(shown), Value::Array(real)) if form => {
            // what a ranking had when it was made may have been deleted since
            let Some(first) = shown.first() else { return Ok(()) };
            if real.is_empty() && step.soon {
                return Err("there is no item yet".to_owned());
            }
            real.iter().try_for_each(|item| compare(first, item, step, samples, values))
        }
        (Value::Array(shown), Value::Array(real)) if shown.len() == real.len() => {
            let mut pairs = shown.iter().zip(real);
            pairs.try_for_each(|(shown, real)| compare(shown, real, step, samples, values))
        }
        (Value::Object(shown), Value::Object(real)) => {
            let missing = shown.keys().find(|name| !real.contains_key(*name));
            let unknown = real.keys().find(|name| !shown.contains_key(*name));
            if let Some(name) = missing.or(unknown.filter(|_| step.compare != Compare::Part)) {
                return Err(format!("only one of both has the field {name}"));
            }
            for (name, shown) in shown {
                compare(shown, &real[name], step, samples, values)
                    .map_err(|why| format!("{name}: {why}"))?;
            }
            Ok(())
        }
        _ if form && kind(shown) == kind(real) => Ok(()),
        _ if fill(shown, values) == *real => Ok(()),
        _ => differs(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The values that a user of the API chooses: handles that nobody else has, and times in the future.
fn chosen(clients: &BTreeMap<&str, Client>) -> Values {
    let text = |days: u64, hours: u64| {
        let seconds = clock::now().since(Time::EPOCH).as_secs() + (days * 24 + hours) * 3_600;
        (Time::EPOCH + Duration::from_secs(seconds)).rfc3339()
    };
    let (later, later_still) = (text(200, 0), text(210, 0));
    let in_zone = text(200, 2).replace('Z', "+02:00");
    let mut chosen = Values::new();
    for (name, client) in clients {
        chosen.insert((*name).to_owned(), json!(client.handle));
    }
    for (name, value) in [
        ("later", in_zone),
        ("later_utc", later),
        ("later_still", later_still.clone()),
        ("later_still_utc", later_still),
    ] {
        chosen.insert(name.to_owned(), json!(value));
    }
    chosen
}

/// A parameter as a part of an address.
fn plain(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@._-".contains(c);
    assert!(text.chars().all(is_plain), "{text:?} must be encoded, which this test does not do");
    text
}

async fn send(client: &Client, api: &Value, step: &ExampleStep, values: &Values) -> Answer {
    let (route, _) = route(api, &step.call);
    let (method, template) = route.split_once(' ').expect("a method and a path");
    let path =
        fill_all(&step.path, values).iter().fold(template.to_owned(), |path, (name, value)| {
            path.replace(&format!("{{{name}}}"), &plain(value))
        });
    let query = fill_all(&step.query, values);
    let query: Vec<_> =
        query.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
    let address = if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) };
    let headers: Vec<_> = step
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().expect("a text")))
        .collect();
    let body = step.body.as_ref().map(|body| fill(body, values));
    client.send(method.parse().expect("a method"), &address, &headers, body).await
}

/// Sends the request of a step until its answer is the shown one. Only some answers may need more than one request.
async fn play(
    client: &Client,
    api: &Value,
    step: &ExampleStep,
    samples: &Values,
    values: &mut Values,
) {
    let began = Instant::now();
    loop {
        let answer = send(client, api, step, values).await;
        let mut found = values.clone();
        let compared = match (&step.answer, answer.status == step.status) {
            (_, false) => Err(format!("{} instead of {}", answer.status, step.status)),
            (None, true) if answer.body.is_null() => Ok(()),
            (None, true) => Err("the answer has a body".to_owned()),
            (Some(shown), true) => compare(shown, &answer.body, step, samples, &mut found),
        };
        let Err(why) = compared else {
            *values = found;
            return;
        };
        let (title, call) = (step.title.as_deref().unwrap_or("not shown"), &step.call);
        let waits = step.soon && began.elapsed() < Duration::from_secs(120);
        assert!(waits, "the example of {call} ({title}) is wrong: {why}\n{answer:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn the_examples_are_true() {
    let (examples, api) = (examples(), api());
    let mut clients = BTreeMap::new();
    for name in ["ash", "birch", "cedar"] {
        clients.insert(name, Client::signed_in().await);
    }
    let (anonymous, samples, mut values) =
        (Client::anonymous(), examples.shown(), chosen(&clients));
    let names: BTreeSet<_> = values.keys().cloned().collect();
    assert_eq!(names, examples.chosen.keys().cloned().collect(), "what this test chooses");
    for step in &examples.steps {
        let client = step.by.as_deref().map_or(&anonymous, |name| &clients[name]);
        play(client, &api, step, &samples, &mut values).await;
    }
    let unused: Vec<_> = samples.keys().filter(|name| !values.contains_key(*name)).collect();
    assert!(unused.is_empty(), "no answer has these: {unused:?}");
}

#[test]
fn a_wrong_example_is_found() {
    let step = |compare: &str, soon: bool| -> ExampleStep {
        let step = json!({"call": "x", "status": 200, "compare": compare, "soon": soon});
        serde_json::from_value(step).expect("a step")
    };
    let samples = json!({"id": "a1", "lag": 7, "next": null});
    let samples = samples.as_object().expect("samples");
    let held = |compare_as: &str, shown: Value, real: Value| {
        let mut values = Values::new();
        let step = step(compare_as, true);
        super::examples::compare(&shown, &real, &step, samples, &mut values).is_ok()
    };
    let shown = json!({"id": "{id}", "then": ["of {id}", "{id}"], "lag": "{lag}", "n": 1});
    let real = json!({"id": "b", "then": ["of b", "b"], "lag": 5, "n": 1});
    assert!(held("all", shown.clone(), real.clone()));
    for (at, wrong) in [
        ("/id", json!("c")),
        ("/then/0", json!("of a1")),
        ("/then/1", json!("a1")),
        ("/lag", json!("5")),
        ("/n", json!(2)),
        ("/n", json!(null)),
        ("/then", json!(["of b"])),
    ] {
        let mut real = real.clone();
        *real.pointer_mut(at).expect("a place") = wrong;
        assert!(!held("all", shown.clone(), real.clone()), "{real}");
    }
    assert!(!held("all", json!({"a": 1}), json!({"a": 1, "b": 2})), "an unknown field");
    assert!(!held("all", json!({"a": 1, "b": 2}), json!({"a": 1})), "a missing field");
    assert!(!held("all", json!("{unknown}"), json!("a")), "a name without a sample");
    assert!(held("part", json!({"a": 1}), json!({"a": 1, "b": 2})));
    assert!(!held("part", json!({"a": 1}), json!({"a": 2, "b": 2})));
    assert!(held("form", json!([{"a": 1, "b": "{next}"}]), json!([{"a": 2, "b": "x"}])));
    assert!(!held("form", json!([{"a": 1}]), json!([{"a": 2}, {"a": "2"}])));
    assert!(!held("form", json!([{"a": 1}]), json!([])));
}

/// Checks that a schema of the description allows a value.
fn assert_allowed(api: &Value, schema: &Value, value: &Value, at: &str) {
    let mut schema = schema.clone();
    schema["components"] = api["components"].clone();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{at}: {errors:?}");
    let text = value.to_string();
    let unfilled = examples().shown().keys().any(|name| text.contains(&format!("{{{name}}}")));
    assert!(!unfilled, "{at}: a name in {text}");
}

/// The examples of a content of the description, after a check against its schema.
fn shown_in(api: &Value, content: &Value, at: &str) -> Vec<Value> {
    let examples = content["examples"].as_object().into_iter().flatten();
    let values: Vec<_> = examples.map(|(_, example)| example["value"].clone()).collect();
    if let Some(schema) = content.get("schema") {
        values.iter().for_each(|value| assert_allowed(api, schema, value, at));
    }
    values
}

#[test]
fn every_operation_has_examples_that_match_its_schemas() {
    let (examples, api) = (examples(), api());
    let samples = examples.shown();
    // panics if there is no such operation
    examples.steps.iter().for_each(|step| drop(route(&api, &step.call)));
    let mut shown_answers = 0;
    for (name, operation) in each_operation(&api) {
        let id = operation["operationId"].as_str().expect("an id");
        let steps = examples.steps.iter().filter(|step| step.call == id && step.title.is_some());
        let steps: Vec<&ExampleStep> = steps.collect();
        let titles: BTreeSet<_> = steps.iter().map(|step| &step.title).collect();
        assert_eq!(titles.len(), steps.len(), "{name}: two examples have the same title");
        let accepted: Vec<&ExampleStep> =
            steps.iter().filter(|step| step.status < 400).copied().collect();
        assert!(!accepted.is_empty(), "{name} has no example");
        // parameters: each is used, and those in the path are offered
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let own = parameter["name"].as_str().expect("a name");
            let at = format!("{name} {own}");
            let used = accepted.iter().filter_map(|step| {
                let given = [&step.path, &step.query, &step.headers];
                given.into_iter().find_map(|given| given.get(own))
            });
            let used: Vec<_> = used.map(|value| fill(value, &samples)).collect();
            assert!(!used.is_empty(), "{at}: no example has it");
            used.iter().for_each(|value| assert_allowed(&api, &parameter["schema"], value, &at));
            let offered = parameter.get("example");
            assert!(offered.is_none_or(|offered| used[0] == *offered), "{at}: {offered:?}");
            assert!(offered.is_some() || parameter["required"] != true, "{at}: no example");
        }
        // bodies
        if let Some(request) = operation.get("requestBody") {
            let content = &request["content"]["application/json"];
            let bodies = accepted.iter().filter(|step| !step.only_listed);
            let bodies = bodies.filter_map(|step| step.body.as_ref());
            let bodies: Vec<_> = bodies.map(|body| fill(body, &samples)).collect();
            assert!(!bodies.is_empty(), "{name} has no example of a body");
            assert_eq!(shown_in(&api, content, &name), bodies, "{name}");
        }
        // answers
        for (status, response) in operation["responses"].as_object().expect("responses") {
            let at = format!("{name}: {status}");
            let of_status = steps.iter().filter(|step| step.status.to_string() == *status);
            let of_status: Vec<_> = of_status.collect();
            let is_shown = of_status.iter().any(|step| !step.only_listed)
                || NOT_SHOWN.contains(&(id, status.as_str()));
            assert!(is_shown || !status.starts_with('2'), "{at}: no example");
            let answers = of_status.iter().filter(|step| !step.only_listed);
            let answers = answers.filter_map(|step| step.answer.as_ref());
            let answers: Vec<_> = answers.map(|answer| fill(answer, &samples)).collect();
            let contents = response["content"].as_object().into_iter().flatten();
            let shown = contents.flat_map(|(_, content)| shown_in(&api, content, &at));
            assert_eq!(shown.collect::<Vec<_>>(), answers, "{at}");
            shown_answers += answers.len();
        }
        // requests
        let text = operation["description"].as_str().unwrap_or_default();
        for title in titles.into_iter().flatten().filter(|_| steps.len() > 1) {
            assert!(text.contains(&format!("- {title}: `")), "{name}: {title} is not listed");
        }
    }
    assert!(shown_answers > 60, "only {shown_answers} answers");
}

#[test]
fn only_answers_that_depend_on_all_users_are_compared_in_part() {
    for step in examples().steps {
        let expected = match step.call.as_str() {
            "ranking" | "public" if step.status == 200 => Compare::Form,
            "openapi" => Compare::Part,
            _ => Compare::All,
        };
        assert_eq!(step.compare, expected, "{step:?}");
    }
}
