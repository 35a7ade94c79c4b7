//! The registry of queues, functions and settings agrees with the template.

use std::collections::BTreeSet;

use fanfold_core::kinds::{ItemKind, LimitKind};
use fanfold_core::message::Message;
use fanfold_core::registry::{
    FROM_LAMBDA, FUNCTIONS, QUEUES, SHARED, TIMER_EVENTS, Trigger, UNSET,
};
use fanfold_engines::due::ItemDue;
use fanfold_kinds::boards::messages::{BoardChanged, RebuildBoard, ScoresChanged};
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::feeds::messages::RebuildFeed;
use fanfold_kinds::follows::messages::{CountFollowers, RelationChanged};
use fanfold_kinds::likes::messages::CountLikes;
use fanfold_kinds::marks::messages::MarkChanged;
use fanfold_kinds::people::messages::ProfileChanged;
use fanfold_kinds::posts::messages::{PostDeleted, PostEdited, PostPublished};
use fanfold_kinds::rankings::messages::RebuildRanking;
use fanfold_kinds::replies::messages::CountReplies;
use fanfold_kinds::tags::messages::UpdateTagFeeds;
use fanfold_kinds::timers::messages::TimerFired;
use yaml_rust2::{Yaml, YamlLoader};

use crate::harness::root;

fn template() -> Yaml {
    let text = include_str!("../../infra/template.yaml");
    YamlLoader::load_from_str(text).expect("YAML").remove(0)
}

fn keys(of: &Yaml) -> BTreeSet<String> {
    let keys = of.as_hash().into_iter().flat_map(|hash| hash.keys());
    keys.map(|key| key.as_str().expect("a name").to_owned()).collect()
}

fn owned<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// The logical ids of the resources of a type.
fn resources(template: &Yaml, kind: &str) -> BTreeSet<String> {
    let resources = template["Resources"].as_hash().expect("resources").iter();
    let of_kind = resources.filter(|(_, resource)| resource["Type"].as_str() == Some(kind));
    of_kind.map(|(id, _)| id.as_str().expect("an id").to_owned()).collect()
}

#[test]
fn every_function_of_the_template_is_registered_with_its_settings() {
    let template = template();
    let ids = resources(&template, "AWS::Serverless::Function");
    assert_eq!(ids, owned(FUNCTIONS.iter().map(|function| function.resource)));
    let shared = keys(&template["Globals"]["Function"]["Environment"]["Variables"]);
    assert_eq!(shared, owned(SHARED.iter().copied()));
    for function in FUNCTIONS {
        let properties = &template["Resources"][function.resource]["Properties"];
        assert_eq!(properties["Handler"].as_str(), Some(function.name));
        let settings = keys(&properties["Environment"]["Variables"]);
        assert_eq!(settings, owned(function.own_settings()), "{}", function.name);
        let events = properties["Events"].as_hash();
        let of_type = |kind: &str| {
            let events = events.into_iter().flatten().map(|(_, event)| event);
            events.filter(|event| event["Type"].as_str() == Some(kind)).collect::<Vec<_>>()
        };
        let queues = of_type("SQS").into_iter().map(|event| event["Properties"]["Queue"].as_str());
        let queues: BTreeSet<Option<&str>> = queues.collect();
        let expected = match function.trigger {
            Trigger::Queues(queues) => {
                queues.iter().map(|queue| format!("{}.Arn", queue.resource)).collect()
            }
            Trigger::Http | Trigger::Schedule | Trigger::Operator => Vec::new(),
        };
        assert_eq!(queues, expected.iter().map(|arn| Some(arn.as_str())).collect());
        assert_eq!(!of_type("HttpApi").is_empty(), function.trigger == Trigger::Http);
        assert_eq!(!of_type("ScheduleV2").is_empty(), function.trigger == Trigger::Schedule);
    }
}

#[test]
fn every_queue_of_the_template_is_registered_with_its_dead_letter_queue() {
    let template = template();
    let mut registered = BTreeSet::new();
    for queue in QUEUES {
        registered.extend([queue.resource.to_owned(), format!("{}Dead", queue.resource)]);
    }
    // these carry no messages of the product: for checks, and for schedules that fail
    registered.extend(["Doctor".to_owned(), "SchedulesDead".to_owned()]);
    // nobody in the stack receives from it, so it has no dead-letter queue, but outputs for its consumers
    let timer_events = TIMER_EVENTS.resource;
    registered.insert(timer_events.to_owned());
    for output in ["TimerEventsQueueUrl", "TimerEventsQueueArn"] {
        assert!(!template["Outputs"][output].is_badvalue(), "no output {output}");
    }
    assert_eq!(resources(&template, "AWS::SQS::Queue"), registered);
}

#[test]
fn every_queue_and_function_has_alarms_and_a_place_on_the_dashboard() {
    let alarms = include_str!("../../infra/alarms.yaml");
    let of_queue =
        |queue: &str| [format!("oldest-message-{queue}"), format!("dead-letters-{queue}")];
    let mut expected: Vec<String> = QUEUES.iter().flat_map(|queue| of_queue(queue.name)).collect();
    for function in FUNCTIONS {
        expected.push(format!("errors-{}", function.name));
        if let Trigger::Queues(_) = function.trigger {
            expected.push(format!("messages-requeued-{}", function.name));
        }
    }
    for alarm in expected {
        let name = format!("AlarmName: !Sub \"${{Name}}-{alarm}\"");
        assert!(alarms.contains(&name), "infra/alarms.yaml has no alarm {alarm}");
    }
    let dashboard = include_str!("../../infra/dashboard.yaml");
    let queues = QUEUES.iter().map(|queue| queue.name);
    let dead = QUEUES.iter().map(|queue| format!("{}-dead", queue.name));
    let shown = queues.chain(FUNCTIONS.iter().map(|function| function.name)).map(str::to_owned);
    for name in shown.chain(dead) {
        let quoted = format!("\"${{Name}}-{name}\"");
        assert!(dashboard.contains(&quoted), "infra/dashboard.yaml does not show {name}");
    }
}

#[test]
fn every_function_has_an_event() {
    let events = root().join("tests/events");
    for function in FUNCTIONS {
        let event = events.join(format!("{}.json", function.name));
        assert!(event.is_file(), "{} is missing", event.display());
    }
}

/// The names in a source that are read as settings, or have the form of one with several words. Tests are left out.
fn settings_in(source: &str) -> BTreeSet<&str> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let literals = source.match_indices('"').filter_map(|(at, _)| {
        let rest = &source[at + 1..];
        let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let (name, end) = rest.split_at(rest.find(|c| !is_of_name(c))?);
        (!name.is_empty() && end.starts_with('"')).then(|| (source[..at].trim_end(), name))
    });
    let is_setting = |before: &str, name: &str| {
        let is_read = [".text(", ".number(", "env::var("].iter().any(|read| before.ends_with(read));
        // cargo sets those of `env!` for the compiler
        is_read || (name.contains('_') && !before.ends_with("env!("))
    };
    literals.filter(|(before, name)| is_setting(before, name)).map(|(_, name)| name).collect()
}

#[test]
fn every_setting_that_the_code_reads_is_registered() {
    let mut registered: BTreeSet<&str> =
        [SHARED, UNSET, FROM_LAMBDA].concat().into_iter().collect();
    registered.extend(FUNCTIONS.iter().flat_map(|function| function.own_settings()));
    let mut files = Vec::new();
    // the core reads no settings
    for folder in [
        "shared/runtime/src",
        "shared/engines/src",
        "shared/kinds/src",
        "shared/web/src",
        "functions",
    ] {
        crate::house::files(&root().join(folder), &mut files);
    }
    // the settings of limits stand in the table of kinds
    let limits = LimitKind::ALL.iter().map(|kind| kind.setting().0);
    let mut found: BTreeSet<String> = limits.map(str::to_owned).collect();
    assert!(found.iter().all(|name| registered.contains(name.as_str())), "{found:?}");
    for file in files {
        if file.ends_with("tests.rs") {
            continue;
        }
        let source = std::fs::read_to_string(&file).expect("a source");
        for name in settings_in(&source) {
            assert!(
                registered.contains(name),
                "{} reads {name}: it is not in the registry",
                file.display()
            );
            found.insert(name.to_owned());
        }
    }
    // the search finds names of one word, of several, beside the call and elsewhere
    for name in
        ["BUCKETS", "FEED_CAP", "REDIS_CA_FILE", "QUEUE_TRIES", "_HANDLER", "POSTS_PER_MINUTE"]
    {
        assert!(found.contains(name), "{name} is not found");
    }
}

/// Every kind of item has a fixture, and every item of the fixtures is of a known kind.
#[test]
fn the_kinds_of_items_are_those_of_the_fixtures() {
    let items = include_str!("../fixtures/v1/items.json");
    let items: serde_json::Value = serde_json::from_str(items).expect("JSON");
    let tables = items.as_object().expect("tables").values();
    let items = tables.flat_map(|items| items.as_array().expect("items"));
    let kind = |pk: &str| ItemKind::of(pk).unwrap_or_else(|| panic!("{pk} is of no known kind"));
    let found: BTreeSet<ItemKind> =
        items.map(|item| kind(item["pk"]["S"].as_str().expect("a key"))).collect();
    // the doctor's items exist for a moment
    let expected = ItemKind::ALL.iter().copied().filter(|kind| *kind != ItemKind::Probe);
    assert_eq!(found, expected.collect());
}

/// The list of a queue has the messages that name it. It may have more, which are also sent on it; no other message is, which
/// the outbox checks in each test.
#[test]
fn queues_list_the_messages_that_name_them() {
    fn named<M: Message>() -> impl Iterator<Item = (&'static str, &'static str)> {
        M::QUEUES.iter().map(|queue| (queue.name, M::TYPE))
    }
    let listed =
        QUEUES.iter().flat_map(|queue| queue.messages.iter().map(|kind| (queue.name, *kind)));
    let named = named::<PostPublished>()
        .chain(named::<PostDeleted>())
        .chain(named::<PostEdited>())
        .chain(named::<DeliverChunk>())
        .chain(named::<UpdateTagFeeds>())
        .chain(named::<RelationChanged>())
        .chain(named::<CountFollowers>())
        .chain(named::<ProfileChanged>())
        .chain(named::<MarkChanged>())
        .chain(named::<CountLikes>())
        .chain(named::<CountReplies>())
        .chain(named::<ScoresChanged>())
        .chain(named::<BoardChanged>())
        .chain(named::<RebuildFeed>())
        .chain(named::<RebuildBoard>())
        .chain(named::<RebuildRanking>())
        .chain(named::<ItemDue>())
        .chain(named::<TimerFired>());
    let (named, listed): (BTreeSet<_>, BTreeSet<_>) = (named.collect(), listed.collect());
    assert_eq!(
        named.difference(&listed).copied().collect::<Vec<_>>(),
        [(TIMER_EVENTS.name, "TimerFired")]
    );
    let types = |of: &BTreeSet<(_, &'static str)>| {
        of.iter().map(|(_, kind)| *kind).collect::<BTreeSet<_>>()
    };
    assert_eq!(types(&named), types(&listed));
}
