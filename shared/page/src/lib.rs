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

mod files;
mod html;
mod problems;
mod sign_in;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRef, Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fanfold_runtime::Config;
use fanfold_runtime::config::ConfigError;
use fanfold_web::{Kind, Problem};

pub use files::{FILES, File, VERSION};
use sign_in::SignIn;

/// The page, with the settings of the deployment. `None`: it is turned off.
#[derive(Debug, Clone)]
pub struct Page(Option<Arc<Documents>>);

#[derive(Debug)]
struct Documents {
    index: String,
    docs: String,
    /// The Content-Security-Policy.
    policy: HeaderValue,
}

/// How long a browser keeps a file. Its address has the version.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// A document is asked for each time: it names the version of the files.
const ASK: HeaderValue = HeaderValue::from_static("no-cache");

impl Page {
    /// Reads the setting `PAGE`. Fails if it is missing or has another form.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let Some(sign_in) = SignIn::read(config)? else { return Ok(Self(None)) };
        let policy =
            HeaderValue::from_str(&html::policy(&sign_in)).map_err(|_| sign_in::bad(config))?;
        let documents = Documents { index: html::index(&sign_in), docs: html::docs(), policy };
        Ok(Self(Some(Arc::new(documents))))
    }

    fn document(&self, body: impl FnOnce(&Documents) -> Option<String>) -> Response {
        let shown = self.0.as_deref().and_then(|all| Some((all.policy.clone(), body(all)?)));
        let Some((policy, body)) = shown else { return missing().into_response() };
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
            (header::CACHE_CONTROL, ASK),
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ];
        (headers, body).into_response()
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
}

async fn index(State(page): State<Page>) -> Response {
    page.document(|all| Some(all.index.clone()))
}

async fn docs(State(page): State<Page>) -> Response {
    page.document(|all| Some(all.docs.clone()))
}

async fn problem(State(page): State<Page>, Path(kind): Path<String>) -> Response {
    let uri = format!("/problems/{kind}");
    let found = Kind::ALL.iter().find(|kind| kind.uri() == uri);
    page.document(|_| Some(html::problem(*found?)))
}

async fn asset(
    State(page): State<Page>,
    Path((version, name)): Path<(String, String)>,
) -> Response {
    let found = FILES.iter().find(|file| file.name == name);
    let Some(file) = found.filter(|_| version == VERSION && page.0.is_some()) else {
        return missing().into_response();
    };
    // every browser reads gzip; a client that does not say what it reads must take it, too
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.kind)),
        (header::CONTENT_ENCODING, HeaderValue::from_static("gzip")),
        (header::CACHE_CONTROL, FOR_EVER),
    ];
    (StatusCode::OK, headers, file.packed).into_response()
}

fn missing() -> Problem {
    Problem::new(Kind::NoSuchRoute, "no page has this path; GET / is the first one")
}
