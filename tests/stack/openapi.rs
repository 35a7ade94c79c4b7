//! The API description (the specification) matches the handlers and the routes of the deployed API.

mod examples;

use fanfold_core::Partition;
use std::collections::BTreeSet;

use fanfold_core::kinds::KeyKind;
use fanfold_core::limits::{
    ACCENTS_MAX, ALT_GRAPHEMES_MAX, BOARD_NAME_CHARS_MAX, GRAPHEME_CHARS_MAX, NAME_GRAPHEMES_MAX,
    TEXT_GRAPHEMES_MAX,
};
use fanfold_core::text::{alt, bio, label, name, post_text};
use fanfold_core::{FeedId, Handle, List, MemberName, PostId, UserId, UserRef};
use fanfold_functions::{boards, posts, timeline, timers, users};
use fanfold_kinds::follows::FollowingOf;
use fanfold_web::examples::Examples;
use fanfold_web::router::{OpenApi, specification};
use fanfold_web::{OPENAPI_JSON, shared_answers};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::dice::Dice;
use crate::harness::{output, root, setting};

/// The functions that answer HTTP requests, by their resource in the template, with the descriptions of their routes.
fn parts() -> [(&'static str, OpenApi); 5] {
    [
        ("Posts", posts::routes().into_openapi()),
        ("Users", users::routes().into_openapi()),
        ("Timeline", timeline::routes().into_openapi()),
        ("Timers", timers::routes().into_openapi()),
        ("Boards", boards::routes().into_openapi()),
    ]
}

/// Fails unless a file of the project has this text. `cargo local openapi` writes it before.
fn check_file(path: &str, expected: impl Fn(&str) -> String) {
    let file = root().join(path);
    let read = || std::fs::read_to_string(&file).expect("the file");
    if std::env::var_os("FANFOLD_WRITE_OPENAPI").is_some() {
        std::fs::write(&file, expected(&read())).expect("written");
    }
    let found = read();
    assert!(found == expected(&found), "{path} is out of date: run `cargo local openapi`");
}

#[test]
fn the_files_match_the_handlers() {
    let parts = parts().map(|(_, part)| part);
    let api = specification(parts, &Examples::read().expect("examples.json"));
    check_file("shared/web/openapi.json", |_| format!("{}\n", api.to_pretty_json().expect("JSON")));
    check_file("infra/template.yaml", with_routes);
    check_file("infra/cache.yaml", with_keys);
}

/// The template of the cache with the beginnings of all keys, which the functions' user may reach.
fn with_keys(template: &str) -> String {
    let begins = |kind: KeyKind| kind.name().split(':').next().unwrap_or_default();
    let begins: BTreeSet<&str> = KeyKind::all().map(begins).collect();
    let patterns: String = begins.iter().map(|begins| format!(" ~{begins}:*")).collect();
    let (before, rest) = template.split_once("AccessString: \"on").expect("an access string");
    let (_, after) = rest.split_once(" -@all").expect("the rights");
    format!("{before}AccessString: \"on{patterns} -@all{after}")
}

/// The template with the routes of all functions. They stand between two comments of each function.
fn with_routes(template: &str) -> String {
    let mut template = template.to_owned();
    for (function, mut part) in parts() {
        shared_answers::add(&mut part);
        let api = serde_json::to_value(&part).expect("JSON");
        let routes = each_operation(&api).into_iter().filter(|(_, one)| needs_token(one));
        let routes = routes.map(|(name, operation)| {
            let (method, path) = name.split_once(' ').expect("a method and a path");
            let id = operation["operationId"].as_str().expect("an id").split('_');
            let event: String = id.map(capitalized).collect();
            format!(
                "        {event}: {{ Type: HttpApi, Properties: {{ ApiId: !Ref Api, Method: {method}, Path: \"{path}\" }} }}\n"
            )
        });
        let lines: String = routes.collect();
        let begin = format!("        # routes of {function}: written by `cargo local openapi`\n");
        let begin = template.find(&begin).expect("the first comment") + begin.len();
        let end =
            template[begin..].find("        # end of the routes\n").expect("the second comment");
        template.replace_range(begin..begin + end, &lines);
    }
    template
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

/// Whether an operation needs a token. The others take the route of unknown paths, which has a low rate.
fn needs_token(operation: &Value) -> bool {
    operation["security"].as_array().is_some_and(|needs| !needs.is_empty())
}

pub fn api() -> Value {
    serde_json::from_str(&OPENAPI_JSON).expect("JSON")
}

/// Each operation with its method and path.
pub fn each_operation(api: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (path, methods) in api["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            found.push((format!("{} {path}", method.to_uppercase()), operation));
        }
    }
    found
}

fn operations() -> BTreeSet<String> {
    each_operation(&api()).into_iter().map(|(name, _)| name).collect()
}

#[tokio::test]
async fn the_routes_of_the_gateway_match_the_specification() {
    let url = format!("{}/v2/apis/{}/routes", setting("AWS_ENDPOINT_URL"), output("ApiId"));
    let routes: Value = reqwest::get(url).await.expect("routes").json().await.expect("JSON");
    let routes = routes["items"].as_array().expect("a list").iter();
    let mut routed: BTreeSet<String> =
        routes.map(|route| route["routeKey"].as_str().expect("a key").to_owned()).collect();
    assert!(routed.remove("$default"), "there is no route for unknown paths");
    let api = api();
    let guarded = each_operation(&api).into_iter().filter(|(_, operation)| needs_token(operation));
    let guarded: BTreeSet<String> = guarded.map(|(name, _)| name).collect();
    let open: Vec<String> = operations().difference(&guarded).cloned().collect();
    assert_eq!((routed, open), (guarded, vec!["GET /openapi.json".to_owned()]));
}

#[tokio::test]
async fn the_specification_is_served_without_a_token() {
    let served = Client::anonymous().send(Method::GET, "/openapi.json", &[], None).await;
    assert_eq!(served.status, 200);
    assert_eq!(served.body, serde_json::from_str::<Value>(&OPENAPI_JSON).expect("JSON"));
    assert!(served.body["openapi"].as_str().expect("a version").starts_with("3.1"));
    let packed = reqwest::Client::new().get(format!("{}/openapi.json", setting("FANFOLD_URL")));
    let packed = packed.header("Accept-Encoding", "gzip, br").send().await.expect("an answer");
    assert_eq!(packed.status().as_u16(), 200);
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let packed = packed.bytes().await.expect("a body");
    assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() < OPENAPI_JSON.len() / 4);
}

/// The unrestricted parts of a description of a value, at any depth: texts without a pattern or a length, numbers
/// without bounds, objects with unknown fields.
fn gaps(api: &Value, schema: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = api.pointer(reference.trim_start_matches('#')).expect("what it refers to");
        return gaps(api, schema, at);
    }
    let lacks = |keys: &[&str]| -> Vec<String> {
        let missing = keys.iter().filter(|key| schema.get(key).is_none());
        missing.map(|key| format!("{at}: {key}")).collect()
    };
    // a value that may be null
    if let Some(choices) = schema["oneOf"].as_array() {
        let values = choices.iter().filter(|choice| choice["type"] != "null");
        return values.flat_map(|choice| gaps(api, choice, at)).collect();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("boolean") => Vec::new(),
        Some("array") => {
            let mut found = lacks(&["maxItems"]);
            found.extend(gaps(api, &schema["items"], &format!("{at}[]")));
            found
        }
        Some("string") if schema.get("enum").is_some() => Vec::new(),
        // a format that RFC 3339 defines
        Some("string") if schema["format"] == "date-time" => Vec::new(),
        Some("string") => lacks(&["pattern", "maxLength"]),
        Some("integer") => lacks(&["minimum", "maximum"]),
        Some("object") => {
            let mut found = Vec::new();
            if schema["additionalProperties"] != json!(false) {
                found.push(format!("{at}: additionalProperties"));
            }
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                found.extend(gaps(api, field, &format!("{at}.{name}")));
            }
            found
        }
        other => vec![format!("{at}: type {other:?}")],
    }
}

#[test]
fn every_parameter_and_field_has_a_pattern_and_a_length() {
    let api = api();
    let (mut found, mut seen) = (Vec::new(), 0);
    for (name, operation) in each_operation(&api) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let at = format!("{name} {}", parameter["name"]);
            found.extend(gaps(&api, &parameter["schema"], &at));
            seen += 1;
        }
        if let Some(body) = operation.get("requestBody") {
            let content = body["content"].as_object().expect("content");
            assert_eq!(content.keys().collect::<Vec<_>>(), ["application/json"], "{name}");
            found.extend(gaps(&api, &content["application/json"]["schema"], &name));
            seen += 1;
        }
    }
    // any JSON; its bytes are bounded by the code and named in the text
    found.retain(|gap| gap != "PUT /v1/timers/{name}.payload: type None");
    found.retain(|gap| !gap.ends_with(".data: additionalProperties"));
    assert!(found.is_empty(), "the description does not restrict these: {found:#?}");
    assert!(seen > 15, "only {seen} parameters and bodies");
    // check of the test itself: it finds what is missing
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    assert_eq!(gaps(&api, &open, "x").len(), 5);
}

/// The statuses that an operation must describe, according to its parts.
fn expected_statuses(name: &str, operation: &Value) -> Vec<&'static str> {
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let mut expected = vec!["429", "500", "503"];
    // each route of this version refuses parameters that it does not have
    if name.contains(" /v1/") {
        expected.extend(["400", "401"]);
    }
    let named = |parameter: &Value| {
        parameter["in"] == "path" || parameter["name"].as_str().is_some_and(|name| name == "cursor")
    };
    // a timer that does not exist is made, and every tag can be read and followed
    let makes = [
        "PUT /v1/timers/{name}",
        "GET /v1/tags/{tag}",
        "PUT /v1/tags/{tag}/follow",
        "DELETE /v1/tags/{tag}/follow",
    ];
    if parameters.iter().any(named) && !makes.contains(&name) {
        expected.push("404");
    }
    if operation.get("requestBody").is_some() {
        expected.extend(["400", "413", "415", "422"]);
        // it changes nothing
        if !name.ends_with("/standings") {
            expected.push("409");
        }
    }
    if name.ends_with("/follow") {
        expected.push("409");
        if name != "DELETE /v1/tags/{tag}/follow" {
            expected.push("422");
        }
    }
    // marks of posts
    if name.contains(" /v1/posts/{id}/") && !name.starts_with("GET ") {
        expected.push("409");
    }
    let settings = ["PUT /v1/leaderboards/{board}", "DELETE /v1/leaderboards/{board}"];
    if name == "DELETE /v1/posts/{id}" || name.ends_with("/delivery") || settings.contains(&name) {
        expected.push("403");
    }
    expected
}

#[test]
fn every_operation_describes_its_answers() {
    let api = api();
    for (name, operation) in each_operation(&api) {
        let responses = operation["responses"].as_object().expect("responses");
        for status in expected_statuses(&name, operation) {
            assert!(responses.contains_key(status), "{name}: {status}");
        }
        let security = if name.contains(" /v1/") { json!([{"jwt": []}]) } else { json!([]) };
        assert_eq!(operation["security"], security, "{name}");
        for (status, response) in responses {
            let at = format!("{name}: {status}: {response}");
            let error = status.starts_with(['4', '5']);
            let description = response["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{at}");
            let types: Vec<&str> = response["content"]
                .as_object()
                .map(|content| content.keys().map(String::as_str).collect())
                .unwrap_or_default();
            let own = "application/problem+json";
            let writes = !name.starts_with("GET ") && !name.ends_with("/standings");
            let mut parameters = operation["parameters"].as_array().into_iter().flatten();
            // pages that are pulled on purpose are limited, too, and those of an export, and what counts the posts of tags
            let pulls = parameters.any(|parameter| parameter["name"] == "source")
                || ["/export", "/v1/tags", "/v1/tags/{tag}"]
                    .iter()
                    .any(|path| name.ends_with(path));
            match status.as_str() {
                "204" => assert!(types.is_empty(), "{at}"),
                // the gateway answers these
                "401" => assert_eq!(types, ["application/json"], "{at}"),
                "500" => assert_eq!(types.contains(&own), name.contains(" /v1/"), "{at}"),
                "429" => assert_eq!(types.contains(&own), writes || pulls, "{at}"),
                "503" => assert!(types.contains(&"application/json"), "{at}"),
                _ if error => assert_eq!(types, [own], "{at}"),
                _ => assert_eq!(types, ["application/json"], "{at}"),
            }
            let header = match (status.as_str(), name.as_str()) {
                ("201", "POST /v1/posts") => "Location",
                ("401", _) => "WWW-Authenticate",
                ("429" | "503", _) => "Retry-After",
                ("500", _) => continue,
                _ => "x-request-id",
            };
            assert!(response["headers"].get(header).is_some(), "{at}: {header}");
        }
    }
}

#[test]
fn the_description_says_where_the_api_is_and_what_its_parts_are() {
    let api = api();
    assert_eq!(api["servers"], json!([{"url": "/"}]));
    assert_eq!(api["info"]["license"]["identifier"], "MIT OR Apache-2.0");
    let tags = api["tags"].as_array().expect("tags").iter();
    let described: BTreeSet<&str> = tags
        .filter(|tag| tag["description"].as_str().is_some_and(|text| !text.is_empty()))
        .map(|tag| tag["name"].as_str().expect("a name"))
        .collect();
    let used: BTreeSet<&str> = each_operation(&api)
        .iter()
        .flat_map(|(_, operation)| operation["tags"].as_array().expect("tags"))
        .map(|tag| tag.as_str().expect("a name"))
        .collect();
    assert_eq!(described, used);
}

/// A change of a member is exactly one change.
#[test]
fn a_change_of_a_member_has_one_form() {
    let api = api();
    let mut schema = api["components"]["schemas"]["MemberChange"].clone();
    assert_eq!(schema["oneOf"].as_array().map(Vec::len), Some(4));
    schema["components"] = api["components"].clone();
    let described = jsonschema::validator_for(&schema).expect("a schema");
    for change in [
        json!({"member": "x", "set": ["1"]}),
        json!({"member": "x", "set_if_better": ["1", "2"]}),
        json!({"member": "x", "add": ["1"]}),
        json!({"member": "x", "remove": true}),
    ] {
        assert!(described.is_valid(&change), "{change}");
    }
    for change in [
        json!({"member": "x"}),
        json!({"member": "x", "set": ["1"], "add": ["1"]}),
        json!({"member": "x", "set": ["1"], "remove": false}),
        json!({"member": "x", "set": null, "add": ["1"]}),
        json!({"member": "x", "remove": false}),
        json!({"remove": true}),
    ] {
        assert!(!described.is_valid(&change), "{change}");
    }
}

/// A function that tells whether the description at `at` allows a value.
fn allows(at: &str) -> impl Fn(&str) -> bool + use<> {
    let api = api();
    let schema = api.pointer(at).unwrap_or_else(|| panic!("{at} is missing")).clone();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    move |value| validator.is_valid(&json!(value))
}

fn parameter(path: &str, name: &str) -> impl Fn(&str) -> bool + use<> {
    let api = api();
    let parameters = api["paths"][path]["get"]["parameters"].as_array().expect("parameters");
    let at =
        parameters.iter().position(|parameter| parameter["name"] == name).expect("the parameter");
    allows(&format!("/paths/{}/get/parameters/{at}/schema", path.replace('/', "~1")))
}

#[test]
fn ids_handles_and_cursors_match_the_specification() {
    let mut dice = Dice(7);
    let (user, post) = (parameter("/v1/users/{user}", "user"), parameter("/v1/posts/{id}", "id"));
    let (feed, list) =
        (parameter("/v1/timeline", "cursor"), parameter("/v1/users/{user}/followers", "cursor"));
    for _ in 0..100 {
        let owner = UserId(dice.next());
        let id = PostId(u128::from(dice.next()) << 64 | u128::from(dice.next()));
        assert!(user(&owner.to_string()) && post(&id.to_string()));
        assert!(feed(&FeedId::home(owner).cursor(&(id, PostId::MIN))));
        let place = (Partition(dice.next() as u16), owner);
        assert!(list(&FollowingOf(owner).cursor(&place)));
    }
    let (longest, longer) = (format!("@{}", "a".repeat(30)), format!("@{}", "a".repeat(31)));
    for text in ["@ash_1", "@", "@Ash", "ash", "00000000000000FF", "", &longest, &longer, "@a\n"] {
        assert_eq!(user(text), text.parse::<UserRef>().is_ok(), "{text:?}");
    }
    let described = allows("/components/schemas/NewProfile/properties/handle");
    for text in ["ash", "a", "", "A", "a b", "ash\n", "é", &"a".repeat(30), &"a".repeat(31)] {
        assert_eq!(described(text), text.parse::<Handle>().is_ok(), "{text:?}");
    }
}

/// A field, its rule, and its maximal number of characters.
type Field = (&'static str, fn(&str) -> bool, usize);

const FIELDS: [Field; 6] = [
    ("MemberName", |text| text.parse::<MemberName>().is_ok(), BOARD_NAME_CHARS_MAX),
    ("NewPost/properties/text", |text| post_text(text).is_ok(), TEXT_GRAPHEMES_MAX),
    ("NewProfile/properties/name", |text| name(text).is_ok(), NAME_GRAPHEMES_MAX),
    ("NewAbout/properties/bio", |text| bio(text).is_ok(), TEXT_GRAPHEMES_MAX),
    ("Attachment/properties/alt", |text| alt(text).is_ok(), ALT_GRAPHEMES_MAX),
    ("Link/properties/label", |text| label(text).is_ok(), NAME_GRAPHEMES_MAX),
];

#[test]
fn the_specification_allows_exactly_the_accepted_characters() {
    for (field, accepted, _) in FIELDS {
        let described = allows(&format!("/components/schemas/{field}"));
        for c in '\0'..=char::MAX {
            for text in [format!("{c}"), format!("{c}a"), format!("a{c}b"), format!("a {c}")] {
                assert_eq!(described(&text), accepted(&text), "{field}: {text:?}");
            }
        }
    }
}

/// The one reason that no pattern can express, and that the description names.
#[test]
fn only_a_character_of_very_many_code_points_is_described_and_refused() {
    for (field, accepted, _) in &FIELDS[1..] {
        let described = allows(&format!("/components/schemas/{field}"));
        // found by the fuzzer: a letter with vowel signs and a virama
        for sign in ["\u{5b8}", "\u{e49}", "\u{200d}\u{1f469}"] {
            let character = |count: usize| -> String {
                let signs = sign.chars().cycle().take(count - 1);
                std::iter::once('\u{1f469}').chain(signs).collect()
            };
            let (most, more) =
                (character(GRAPHEME_CHARS_MAX - 1), character(GRAPHEME_CHARS_MAX + 2));
            assert!(described(&most) && accepted(&most), "{field}: {most:?}");
            assert!(described(&more) && !accepted(&more), "{field}: {more:?}");
        }
        let text = &api()["components"]["schemas"];
        let text = text.pointer(&format!("/{field}/description")).and_then(Value::as_str);
        let promise =
            format!("A character of more than {GRAPHEME_CHARS_MAX} code points is refused");
        assert!(text.is_some_and(|text| text.contains(&promise)), "{field}: {text:?}");
    }
}

/// Whether a text has more successive accents than the description allows.
fn has_too_many_accents(text: &str) -> bool {
    let accents: Vec<bool> = text.chars().map(|c| ('\u{300}'..='\u{36f}').contains(&c)).collect();
    accents.windows(ACCENTS_MAX + 1).any(|row| row.iter().all(|accent| *accent))
}

#[test]
fn texts_that_the_specification_allows_are_accepted() {
    let mut dice = Dice(11);
    let odd: Vec<char> =
        "aé \n\t\u{301}\u{34f}\u{200b}\u{200d}\u{200e}\u{ad}\u{fe0f}\u{2028}\u{202e}🌲\u{1f3fd}\
        \u{1f1e6}\u{93e}\u{e0061}\u{3000}\u{85}\u{1100}\u{1161}\u{a9}क\u{94d}"
            .chars()
            .collect();
    for (field, accepted, longest) in FIELDS {
        let described = allows(&format!("/components/schemas/{field}"));
        // the longest allowed text, in characters and in bytes
        let accents = "\u{301}".repeat(ACCENTS_MAX);
        for character in ["a".to_owned(), format!("a{accents}"), format!("🌲{accents}")] {
            // each code point of the name of a board or a member counts
            let longest =
                if field == "MemberName" { longest / character.chars().count() } else { longest };
            let (most, more) = (character.repeat(longest), character.repeat(longest + 1));
            assert!(described(&most) && accepted(&most) && !described(&more) && !accepted(&more));
        }
        let (mut both, mut neither) = (0, 0);
        for _ in 0..20_000 {
            let length = 1 + dice.below(8);
            let text: String = (0..length).map(|_| *dice.pick(&odd)).collect();
            match (described(&text), accepted(&text)) {
                (true, true) => both += 1,
                (false, false) => neither += 1,
                // the pattern of texts limits accents
                (false, true) => {
                    assert!(has_too_many_accents(&text), "{field}: {text:?} is accepted")
                }
                (true, false) => panic!("{field}: {text:?} is refused"),
            }
        }
        assert!(both > 1_000 && neither > 1_000, "{both} allowed, {neither} forbidden");
    }
}
