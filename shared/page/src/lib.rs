//! The web page, and the reference pages of the API. They are static files in the binary, so they need no other resource: a
//! page that nobody opens costs nothing.
//!
//! | module | contains |
//! | --- | --- |
//! | `files` | the files that browsers load, compressed |
//! | `sign_in` | how a visitor of the page signs in |
//! | `html` | the documents |
//! | `problems` | a page for each kind of problem |
//!
//! `site/` has the sources of the files, and `site/vendor/` the files of other projects, unchanged.
//!
//! **The page.** `users` serves it from the binary, by the route that takes all other requests, without a token. The
//! document names the version of the files, a hash of all of them, so browsers keep a file for ever and ask for the
//! document alone. The script calls the same routes as every client. It keeps lists in memory, so going back shows
//! them at once, at the same place. The home feed asks for posts that are newer than its newest one every 5 s; each
//! sixth time it reads the newest 100 posts instead, which also shows posts that were delivered late, and deletions.
//!
//! # Decisions
//!
//! - **The binary contains the files.** A bucket and a distribution would be more resources to pay, secure and delete,
//!   and a second origin. In the binary they cost 0.6 MB, of which the viewer of the reference takes nine tenths, and
//!   an invocation for each file of a first visit.
//! - **The parts of the script are joined at build time.** Each file is a request, and each request an invocation. The
//!   build script joins the parts in a fixed order into one scope, so there is no bundler to keep. Comments stay:
//!   whoever opens the source of the page can read it, and compressed they take little.
//! - **preact and htm, without a build step.** They need neither `unsafe-eval` nor inline scripts. alpine and
//!   petite-vue need `unsafe-eval`. Of five viewers of API descriptions, swagger-ui alone works under this policy and
//!   calls no other host. Their versions are in `tests/node/package.json`, and a browser test compares their files
//!   with those of the packages.
//! - **Addresses are after the `#`.** The API has one document, and the redirect address of a sign-in is the same for
//!   every view.
//! - **Tokens are in `sessionStorage`.** They end with the tab, and two tabs can be two users. A cookie would need a
//!   route that sets it, and a protection against requests of other sites.
//! - **`source=pull` is limited.** The switch makes a page as expensive as one of a user without a feed, for everybody
//!   who finds it. `PullQueriesPerMinute` bounds it for each user; then the page reads from the cache and says so.

mod files;
mod html;
mod problems;
mod sign_in;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRef, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fanfold_runtime::Config;
use fanfold_runtime::config::ConfigError;
use fanfold_web::fallback::fallback;
use fanfold_web::{OPENAPI_JSON, OPENAPI_PACKED, Problem, ProblemKind};

pub use files::{FILES, File, VERSION};
use sign_in::SignIn;

/// The page, with the settings of the deployment. `None`: it is turned off.
#[derive(Debug, Clone)]
pub struct Page(Option<Arc<Documents>>);

#[derive(Debug)]
struct Documents {
    index: String,
    docs: String,
    /// What a browser gets for an address that does not exist.
    missing: String,
    /// The Content-Security-Policy of the page and of pages of problems.
    policy: HeaderValue,
    /// That of the reference, whose viewer has pictures in its style.
    docs_policy: HeaderValue,
}

impl Documents {
    fn new(config: &Config) -> Result<Option<Self>, ConfigError> {
        let Some(sign_in) = SignIn::read(config)? else { return Ok(None) };
        let policy = |pictures| {
            let policy = html::policy(&sign_in, pictures);
            HeaderValue::from_str(&policy).map_err(|_| sign_in::bad(config))
        };
        Ok(Some(Self {
            policy: policy("https:")?,
            docs_policy: policy("data:")?,
            index: html::index(&sign_in),
            docs: html::docs(),
            missing: html::missing(),
        }))
    }
}

/// Other sites that open the page get no hold on its window.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// How long a browser keeps a file. Its address has the version.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// The file of another version is asked for each time.
const NOT_KEPT: HeaderValue = HeaderValue::from_static("no-store");
/// A document is asked for each time: it names the version of the files.
const ASK: HeaderValue = HeaderValue::from_static("no-cache");

impl Page {
    /// Reads the setting `PAGE`. If it has another form, there is no page, and the log says why: the API does not stop because
    /// of its page.
    pub fn new(config: &Config) -> Self {
        let documents = Documents::new(config).unwrap_or_else(|error| {
            tracing::error!(%error, "there is no web page");
            None
        });
        Self(documents.map(Arc::new))
    }

    fn document(
        &self,
        policy: impl FnOnce(&Documents) -> &HeaderValue,
        body: impl FnOnce(&Documents) -> Option<String>,
    ) -> Option<Response> {
        let all = self.0.as_deref()?;
        let (policy, body) = (policy(all).clone(), body(all)?);
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
            (header::CACHE_CONTROL, ASK),
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (OPENER_POLICY, HeaderValue::from_static("same-origin")),
        ];
        Some((headers, body).into_response())
    }

    /// The answer for an address that does not exist: a document for browsers, and the problem for everybody else.
    fn missing(&self, headers: &HeaderMap, problem: Problem) -> Response {
        let accepted = headers.get_all(header::ACCEPT).iter();
        let is_browser = accepted
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.contains("text/html"));
        let document = is_browser
            .then(|| self.document(|all| &all.policy, |all| Some(all.missing.clone())))
            .flatten();
        let mut answer = match document {
            Some(document) => (StatusCode::NOT_FOUND, document).into_response(),
            None => problem.into_response(),
        };
        answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        answer
    }
}

/// The routes of the page.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S>
where
    Page: FromRef<S>,
{
    Router::new()
        .route("/", get(index))
        .route("/docs", get(docs))
        .route("/problems/{kind}", get(problem))
        .route("/assets/{version}/{file}", get(asset))
        .route("/{*path}", get(other))
}

async fn index(State(page): State<Page>) -> Response {
    let document = page.document(|all| &all.policy, |all| Some(all.index.clone()));
    document.unwrap_or_else(|| no_page().into_response())
}

async fn docs(State(page): State<Page>) -> Response {
    let document = page.document(|all| &all.docs_policy, |all| Some(all.docs.clone()));
    document.unwrap_or_else(|| no_page().into_response())
}

async fn problem(
    State(page): State<Page>,
    kind: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    // the bytes of a kind may not be UTF-8
    let uri = kind.ok().map(|Path(kind)| format!("/problems/{kind}"));
    let found = ProblemKind::ALL.iter().find(|kind| Some(kind.uri()) == uri.as_deref());
    let document = page.document(|all| &all.policy, |_| Some(html::problem(*found?)));
    document.unwrap_or_else(|| page.missing(&headers, no_page()))
}

/// Answers for all other paths. Those of the API have problems alone.
async fn other(State(page): State<Page>, parts: Parts) -> Response {
    let path = parts.uri.path();
    let is_api = path == "/v1" || path.starts_with("/v1/");
    let headers = parts.headers.clone();
    let problem = fallback(parts).await;
    match problem.kind == ProblemKind::NoSuchRoute && !is_api {
        true => page.missing(&headers, problem),
        false => problem.into_response(),
    }
}

async fn asset(
    State(page): State<Page>,
    path: Result<Path<(String, String)>, PathRejection>,
    asked: HeaderMap,
) -> Response {
    let Ok(Path((version, name))) = path else { return page.missing(&asked, no_page()) };
    let found = FILES.iter().find(|file| file.name == name);
    let Some(file) = found.filter(|_| page.0.is_some()) else {
        return page.missing(&asked, no_page());
    };
    // during a deployment, the document may come from a function of another version: the file is good enough for this visit
    let kept = if version == VERSION { FOR_EVER } else { NOT_KEPT };
    // every browser reads gzip; a client that does not say what it reads must take it, too
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.kind)),
        (header::CONTENT_ENCODING, HeaderValue::from_static("gzip")),
        (header::CACHE_CONTROL, kept),
    ];
    (StatusCode::OK, headers, file.packed).into_response()
}

/// The description of the API, with or without the page. Anybody may ask for it again and again, so it is compressed for
/// every client that reads gzip.
pub fn description(asked: &HeaderMap) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "public, max-age=3600"),
        (header::VARY, "accept-encoding"),
    ];
    match reads_gzip(asked) {
        true => (headers, [(header::CONTENT_ENCODING, "gzip")], OPENAPI_PACKED).into_response(),
        false => (headers, OPENAPI_JSON.as_str()).into_response(),
    }
}

/// Whether a request says that its client reads gzip.
fn reads_gzip(asked: &HeaderMap) -> bool {
    let values =
        asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|text| text.to_str().ok());
    values.flat_map(|text| text.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        // a weight of zero refuses it
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        is_gzip && weight.is_none_or(|weight| weight.parse() != Ok(0.0_f32))
    })
}

fn no_page() -> Problem {
    Problem::new(ProblemKind::NoSuchRoute, "no page has this path; GET / is the first one")
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn page(setting: &'static str) -> Page {
        Page::new(&Config::from_pairs([("PAGE", setting)]))
    }

    async fn file(page: Page, version: &str, name: &str) -> Response {
        asset(State(page), Ok(Path((version.to_owned(), name.to_owned()))), HeaderMap::new()).await
    }

    async fn of_kind(page: Page, kind: &str) -> Response {
        problem(State(page), Ok(Path(kind.to_owned())), HeaderMap::new()).await
    }

    fn header(answer: &Response, name: &str) -> String {
        answer.headers()[name].to_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_file_of_another_version_is_served_and_not_kept() {
        for (version, kept) in [(VERSION, "public, max-age=31536000, immutable"), ("0", "no-store")]
        {
            let answer = file(page("none"), version, "app.js").await;
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(header(&answer, "cache-control"), kept);
        }
        assert_eq!(file(page("none"), VERSION, "x.js").await.status(), StatusCode::NOT_FOUND);
    }

    /// What a browser that follows a link accepts.
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

    async fn ask(setting: &'static str, path: &str, accept: &'static str) -> (u16, String) {
        let asked = Request::get(path).header(header::ACCEPT, accept).body(()).unwrap();
        let answer = other(State(page(setting)), asked.into_parts().0).await;
        (answer.status().as_u16(), header(&answer, "content-type"))
    }

    #[tokio::test]
    async fn a_browser_gets_a_document_for_an_address_that_does_not_exist() {
        let (html, problem) = ("text/html; charset=utf-8", "application/problem+json");
        for path in ["/x", "/docs/", "/v1x", "/assets"] {
            assert_eq!(ask("none", path, BROWSER).await, (404, html.to_owned()), "{path}");
            assert_eq!(ask("none", path, "*/*").await, (404, problem.to_owned()), "{path}");
            assert_eq!(ask("off", path, BROWSER).await, (404, problem.to_owned()), "{path}");
        }
        for path in ["/v1", "/v1/", "/v1/x"] {
            assert_eq!(ask("none", path, BROWSER).await, (404, problem.to_owned()), "{path}");
        }
        assert_eq!(ask("none", "/v1/posts", BROWSER).await.0, 405);
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(BROWSER))]);
        let answer = super::problem(State(page("none")), Ok(Path("x".to_owned())), headers).await;
        assert_eq!(
            (answer.status().as_u16(), header(&answer, "content-type")),
            (404, html.to_owned())
        );
        assert_eq!(header(&answer, "vary"), "accept");
    }

    #[tokio::test]
    async fn without_a_page_there_are_no_documents() {
        for setting in ["off", "oidc https://a.example/;script-src id api"] {
            let answers = [
                index(State(page(setting))).await,
                docs(State(page(setting))).await,
                of_kind(page(setting), "unavailable").await,
                file(page(setting), VERSION, "app.js").await,
            ];
            assert_eq!(answers.map(|answer| answer.status()), [StatusCode::NOT_FOUND; 4]);
        }
    }

    #[test]
    fn the_description_is_compressed_for_clients_that_read_it() {
        let answer = |accepted: Option<&'static str>| {
            let value =
                accepted.map(|text| (header::ACCEPT_ENCODING, HeaderValue::from_static(text)));
            description(&value.into_iter().collect())
        };
        for gzip in ["gzip", "deflate, GZIP;q=0.5", "br, gzip ; q=1"] {
            assert_eq!(header(&answer(Some(gzip)), "content-encoding"), "gzip");
        }
        for plain in [None, Some("identity"), Some("gzip;q=0"), Some("gzip;q=0.000, br")] {
            let answer = answer(plain);
            assert!(!answer.headers().contains_key("content-encoding"), "{plain:?}");
            assert_eq!(header(&answer, "vary"), "accept-encoding");
        }
    }

    #[tokio::test]
    async fn only_the_reference_may_have_pictures_in_its_style() {
        let answers = [
            (index(State(page("none"))).await, false),
            (docs(State(page("none"))).await, true),
            (of_kind(page("none"), "unavailable").await, false),
        ];
        for (answer, has) in answers {
            let policy = header(&answer, "content-security-policy");
            assert_eq!(policy.contains("data:"), has, "{policy}");
            assert_eq!(header(&answer, "cross-origin-opener-policy"), "same-origin");
        }
    }
}
