//! Documents beside the API: the reference, and a page for each type of problem.

use std::collections::BTreeSet;

use fanfold_web::ProblemKind;
use fanfold_web::examples::Examples;
use reqwest::Method;
use reqwest::header::HeaderMap;

use crate::harness::client::Client;
use crate::harness::setting;

/// The status, the headers and the text of a document.
async fn get(path: &str) -> (u16, HeaderMap, String) {
    let answer =
        reqwest::get(format!("{}{path}", setting("FANFOLD_URL"))).await.expect("an answer");
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    (status, headers, answer.text().await.expect("a text"))
}

/// Reads an HTML document, and checks its policy: nothing that the page did not name may run.
async fn document(path: &str) -> String {
    let (status, headers, text) = get(path).await;
    let header = |name: &str| headers[name].to_str().expect("a text");
    assert_eq!((status, header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
    let policy = header("content-security-policy");
    assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
    assert!(policy.contains("script-src 'self'"), "{path}: {policy}");
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
    assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
    text
}

/// The types of the problems that the API answers to the requests of the examples. Another test sends these requests.
fn types_of_examples() -> BTreeSet<String> {
    let examples = Examples::read().expect("examples.json");
    let answers = examples.steps.iter().filter_map(|step| step.answer.as_ref());
    answers.filter_map(|answer| answer["type"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn the_type_of_each_problem_is_the_address_of_a_page_about_it() {
    let types = types_of_examples();
    assert!(types.len() > 15, "{types:?}");
    for path in types {
        let kind = ProblemKind::ALL.iter().find(|kind| kind.uri() == path).expect("a kind");
        let text = document(&path).await;
        assert!(text.contains(kind.title()), "{path}: {text}");
    }
}

#[tokio::test]
async fn the_reference_is_a_page_with_local_files_alone() {
    let text = document("/docs").await;
    let files = text.split("=\"/assets/").skip(1).filter_map(|rest| rest.split('"').next());
    let files: Vec<_> = files.collect();
    assert!(files.len() > 1 && !text.contains("=\"http"), "{text}");
    for file in files {
        let (status, headers, _) = get(&format!("/assets/{file}")).await;
        assert_eq!(
            (status, &headers["content-encoding"]),
            (200, &"gzip".parse().expect("a value"))
        );
    }
    let (status, headers, text) = get("/openapi.json").await;
    assert_eq!(
        (status, &headers["content-type"]),
        (200, &"application/json".parse().expect("a value"))
    );
    assert!(text.contains("\"examples\""));
}

#[tokio::test]
async fn a_browser_gets_a_document_for_a_path_that_does_not_exist() {
    let get = async |path: &str, accept: &str| {
        let url = format!("{}{path}", setting("FANFOLD_URL"));
        let answer = reqwest::Client::new().get(url).header("accept", accept).send().await;
        let answer = answer.expect("an answer");
        let kind = answer.headers()["content-type"].to_str().expect("a text").to_owned();
        let has_policy = answer.headers().contains_key("content-security-policy");
        (answer.status().as_u16(), kind, has_policy)
    };
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
    let (document, problem) = (
        (404, "text/html; charset=utf-8".to_owned(), true),
        (404, "application/problem+json".to_owned(), false),
    );
    for path in ["/x", "/home", "/docs/x", "/problems/x", "/problems"] {
        assert_eq!(get(path, browser).await, document, "{path}");
        assert_eq!(get(path, "application/json").await, problem, "{path}");
        assert_eq!(get(path, "*/*").await, problem, "{path}");
    }
    for path in ["/v1", "/v1/x", "/v1/posts/x/y"] {
        assert_eq!(get(path, browser).await, problem, "{path}");
    }
}

#[tokio::test]
async fn documents_that_do_not_exist_are_problems() {
    let client = Client::anonymous();
    for path in ["/problems/x", "/problems", "/assets/x/y", "/assets/x", "/docs/x"] {
        let answer = client.send(Method::GET, path, &[], None).await;
        assert_eq!(answer.problem(), (404, "/problems/no-such-route"), "{path}");
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{path}");
    }
}

#[tokio::test]
async fn the_page_runs_its_own_scripts_alone() {
    let page = document("/").await;
    let (_, headers, _) = get("/").await;
    let policy = headers["content-security-policy"].to_str().expect("a text");
    let rules: Vec<&str> = policy.split("; ").collect();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(rules.contains(&rule), "{rule} is missing: {policy}");
    }
    assert_eq!(headers["referrer-policy"], "no-referrer");
    // an inline script or style would need an exception from the policy
    for inline in ["<script>", "<style", " style=", " onclick", " onload", "javascript:"] {
        assert!(!page.contains(inline), "{inline}");
    }
    // its files are kept for ever, because their addresses change with them
    let script = page.split("src=\"").nth(1).and_then(|rest| rest.split('"').next());
    let (status, headers, _) = get(script.expect("a script")).await;
    assert_eq!(status, 200);
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
}
