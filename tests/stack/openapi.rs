//! The specification is the handlers', and says what the deployed API routes.

use std::collections::BTreeSet;
use std::path::Path;

use fanfold_store::http::OPENAPI_JSON;
use fanfold_store::http::router::specification;
use reqwest::Method;
use serde_json::Value;

use crate::harness::client::Client;
use crate::harness::{output, setting};

#[test]
fn the_file_is_what_the_handlers_say() {
    let api = specification([
        fanfold_posts::routes().into_openapi(),
        fanfold_users::routes().into_openapi(),
        fanfold_timeline::routes().into_openapi(),
    ]);
    let text = format!("{}\n", api.to_pretty_json().expect("JSON"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/store/openapi.json");
    if std::env::var_os("FANFOLD_WRITE_OPENAPI").is_some() {
        std::fs::write(&file, &text).expect("written");
    }
    let found = std::fs::read_to_string(&file).expect("the file");
    assert!(found == text, "shared/store/openapi.json is out of date: run `cargo local openapi`");
}

fn operations() -> BTreeSet<String> {
    let api: Value = serde_json::from_str(OPENAPI_JSON).expect("JSON");
    let paths = api["paths"].as_object().expect("paths");
    let of = |(path, methods): (&String, &Value)| -> Vec<String> {
        let methods = methods.as_object().expect("methods").keys();
        methods.map(|method| format!("{} {path}", method.to_uppercase())).collect()
    };
    paths.iter().flat_map(of).collect()
}

#[tokio::test]
async fn the_gateway_routes_what_the_specification_lists() {
    let url = format!("{}/v2/apis/{}/routes", setting("AWS_ENDPOINT_URL"), output("ApiId"));
    let routes: Value = reqwest::get(url).await.expect("routes").json().await.expect("JSON");
    let routes = routes["items"].as_array().expect("a list").iter();
    let mut routed: BTreeSet<String> =
        routes.map(|route| route["routeKey"].as_str().expect("a key").to_owned()).collect();
    assert!(routed.remove("$default"), "unknown routes are answered too");
    assert_eq!(routed, operations());
}

#[tokio::test]
async fn it_is_served_to_anybody() {
    let served = Client::nobody().send(Method::GET, "/openapi.json", &[], None).await;
    assert_eq!(served.status, 200);
    assert_eq!(served.body, serde_json::from_str::<Value>(OPENAPI_JSON).expect("JSON"));
    assert!(served.body["openapi"].as_str().expect("a version").starts_with("3.1"));
}
