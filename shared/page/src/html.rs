//! The documents: the page, the reference of the API, and a page for each kind of problem.

use fanfold_web::ProblemKind;

use crate::files::VERSION;
use crate::problems::advice;
use crate::sign_in::SignIn;

/// The modules of the page, which browsers load at the same time instead of one after the other.
const MODULES: [&str; 4] = ["app.js", "preact.mjs", "hooks.mjs", "htm.mjs"];

/// The Content-Security-Policy: scripts and styles of the page alone, calls to its own origin and where visitors sign in.
/// `pictures` says where pictures may come from, beside the own origin.
pub fn policy(sign_in: &SignIn, pictures: &str) -> String {
    let calls = [vec!["'self'".to_owned()], sign_in.origins()].concat().join(" ");
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' {pictures}; font-src 'self'; connect-src {calls}; \
         manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// The page.
pub fn index(sign_in: &SignIn) -> String {
    let settings = escape(&sign_in.json().to_string());
    let modules: String = MODULES
        .iter()
        .map(|name| format!("<link rel=\"modulepreload\" href=\"{}\">\n", asset(name)))
        .collect();
    let head = format!(
        "<link rel=\"preload\" as=\"font\" type=\"font/woff2\" crossorigin href=\"{font}\">\n\
         <meta name=\"fanfold-sign-in\" content=\"{settings}\">\n{modules}\
         <script type=\"module\" src=\"{}\"></script>\n",
        asset("app.js"),
        font = asset("aleo-600.woff2"),
    );
    let body = "<div id=\"app\"><p class=\"starting\">Fanfold is starting …</p></div>\n\
        <noscript><p class=\"starting\">This page needs JavaScript. The API does not: see \
        <a href=\"/docs\">its reference</a>.</p></noscript>\n";
    document("Fanfold", "page.css", &head, body)
}

/// The reference of the API.
pub fn docs() -> String {
    let head = format!(
        "<link rel=\"stylesheet\" href=\"{}\">\n<script src=\"{}\" defer></script>\n<script src=\"{}\" defer></script>\n",
        asset("swagger-ui.css"),
        asset("swagger-ui-bundle.js"),
        asset("docs.js"),
    );
    let body = "<header class=\"sheet-top\"><a href=\"/\">Fanfold</a> <span>API reference</span>\
        <a href=\"/openapi.json\">openapi.json</a></header>\n<main id=\"reference\"></main>\n";
    document("Fanfold: API reference", "sheet.css", &head, body)
}

/// What is shown for an address that does not exist.
pub fn missing() -> String {
    let body = "<header class=\"sheet-top\"><a href=\"/\">Fanfold</a> <a href=\"/docs\">API reference</a></header>\n\
        <main class=\"sheet\">\n<p class=\"status\">404 Not Found</p>\n<h1>No such page</h1>\n\
        <p>Nothing is at this address. Check its spelling, or go to <a href=\"/\">the first page</a>.</p>\n</main>\n";
    document("No such page · Fanfold", "sheet.css", "", body)
}

/// The page of a kind of problem.
pub fn problem(kind: ProblemKind) -> String {
    let advice = advice(kind);
    // in the order of the answers
    let example = format!(
        "{{\n  \"type\": {},\n  \"title\": {},\n  \"status\": {},\n  \"detail\": {}\n}}",
        json(kind.uri()),
        json(kind.title()),
        kind.status().as_u16(),
        json(advice.example),
    );
    let others: String = ProblemKind::ALL
        .iter()
        .map(|other| {
            let current = if *other == kind { " aria-current=\"page\"" } else { "" };
            format!("<li><a href=\"{}\"{current}>{}</a></li>\n", other.uri(), escape(other.title()))
        })
        .collect();
    let body = format!(
        "<header class=\"sheet-top\"><a href=\"/\">Fanfold</a> <span>Problem types</span><a href=\"/docs\">API reference</a>\
         </header>\n<main class=\"sheet\">\n<p class=\"status\">{} {}</p>\n<h1>{}</h1>\n\
         <h2>What it means</h2>\n<p>{}</p>\n<h2>What to do</h2>\n<p>{}</p>\n\
         <h2>Example</h2>\n<pre><code>{}</code></pre>\n</main>\n\
         <nav class=\"sheet-list\" aria-label=\"All problem types\"><h2>All problem types</h2>\n<ul>\n{others}</ul></nav>\n",
        kind.status().as_u16(),
        escape(kind.status().canonical_reason().unwrap_or_default()),
        escape(kind.title()),
        escape(advice.meaning),
        escape(advice.remedy),
        escape(&example),
    );
    document(&format!("{} · Fanfold", escape(kind.title())), "sheet.css", "", &body)
}

/// A text in JSON.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn document(title: &str, style: &str, head: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"description\" content=\"Home timelines: the posts of the people you follow, newest first.\">\n\
         <title>{title}</title>\n<link rel=\"icon\" type=\"image/svg+xml\" href=\"{}\">\n\
         <link rel=\"stylesheet\" href=\"{}\">\n{head}</head>\n<body>\n{body}</body>\n</html>\n",
        asset("icon.svg"),
        asset(style),
    )
}

/// The address of a file.
fn asset(name: &str) -> String {
    format!("/assets/{VERSION}/{name}")
}

/// A text in an element or in an attribute with double quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FILES;

    #[test]
    fn documents_name_files_that_exist() {
        let mut found = 0;
        for text in [index(&SignIn::None), docs(), missing(), problem(ProblemKind::InvalidId)] {
            for (_, rest) in text.match_indices("/assets/").map(|(at, _)| text.split_at(at)) {
                let address = rest.split('"').next().unwrap();
                let name = address.rsplit('/').next().unwrap();
                assert!(FILES.iter().any(|file| file.name == name), "{address}");
                found += 1;
            }
        }
        assert!(found > 10, "{found}");
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escape("<a href=\"&\">"), "&lt;a href=&quot;&amp;&quot;&gt;");
    }

    #[test]
    fn every_problem_has_advice_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for kind in ProblemKind::ALL {
            let advice = advice(*kind);
            assert!(seen.insert(advice.meaning), "{kind:?}");
            for text in [advice.meaning, advice.remedy] {
                assert!(text.len() > 20 && text.ends_with('.'), "{kind:?}: {text}");
            }
            assert!(!advice.example.is_empty());
        }
    }
}
