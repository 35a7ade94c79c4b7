//! How a visitor of the page signs in, from the setting `PAGE`.
//!
//! | value of `PAGE` | meaning |
//! | --- | --- |
//! | `off` | there is no page |
//! | `none` | nobody can sign in on the page: the issuer of tokens has no client for it |
//! | `pool URL CLIENT` | with a name and a password, at the user pool of the stack |
//! | `oidc ISSUER CLIENT AUDIENCE [ORIGIN …]` | at the issuer, by authorization code with PKCE; the page may also call the origins |

use fanfold_runtime::Config;
use fanfold_runtime::config::ConfigError;
use serde_json::{Value, json};

const NAME: &str = "PAGE";
/// The code that confirms everything, and the password and the names of demo users, separated by spaces. `cargo local`
/// sets it for the pool of this machine, which sends no emails; no deployed function has it.
const DEMO: &str = "PAGE_DEMO";

/// How a visitor signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignIn {
    None,
    Pool { url: String, client: String, demo: Option<Demo> },
    Oidc { issuer: String, client: String, audience: String, origins: Vec<String> },
}

/// Users with whom one click signs in, on a developer's machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demo {
    code: String,
    password: String,
    users: Vec<String>,
}

impl Demo {
    fn read(config: &Config) -> Option<Self> {
        let text = config.text(DEMO).ok()?;
        let mut words = text.split_whitespace().map(str::to_owned);
        Some(Self { code: words.next()?, password: words.next()?, users: words.collect() })
    }
}

impl SignIn {
    /// Reads the setting. Without it, nobody signs in, as with `cargo lambda watch`. `None`: there is no page.
    pub fn read(config: &Config) -> Result<Option<Self>, ConfigError> {
        let text = config.text(NAME).unwrap_or_else(|_| "none".to_owned());
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let sign_in = match words.as_slice() {
            [off] if off == "off" => return Ok(None),
            [none] if none == "none" => Self::None,
            [kind, url, client] if kind == "pool" && is_url(url) => {
                let client = client.clone();
                // the AWS services of this machine, which alone have demo users
                match config.text("AWS_ENDPOINT_URL") {
                    Ok(url) => Self::Pool { url, client, demo: Demo::read(config) },
                    Err(_) => Self::Pool { url: url.clone(), client, demo: None },
                }
            }
            [kind, issuer, client, audience, origins @ ..]
                if kind == "oidc" && is_url(issuer) && origins.iter().all(|text| is_url(text)) =>
            {
                Self::Oidc {
                    issuer: issuer.clone(),
                    client: client.clone(),
                    audience: audience.clone(),
                    origins: origins.to_vec(),
                }
            }
            _ => return Err(bad(config)),
        };
        Ok(Some(sign_in))
    }

    /// The origins that the page calls, beside its own.
    pub fn origins(&self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::Pool { url, .. } => vec![origin(url)],
            Self::Oidc { issuer, origins, .. } => {
                [issuer].into_iter().chain(origins).map(|url| origin(url)).collect()
            }
        }
    }

    /// What the scripts of the page read.
    pub fn json(&self) -> Value {
        match self {
            Self::None => json!({"kind": "none"}),
            Self::Pool { url, client, demo } => json!({
                "kind": "pool", "url": url, "client": client,
                "demo": demo.as_ref().map(|Demo { code, password, users }| json!({
                    "code": code, "password": password, "users": users,
                })),
            }),
            Self::Oidc { issuer, client, audience, .. } => json!({
                "kind": "oidc", "issuer": issuer, "client": client, "audience": audience,
            }),
        }
    }
}

/// The error for a value of another form.
pub fn bad(config: &Config) -> ConfigError {
    let value = config.text(NAME).unwrap_or_default();
    let takes = "off, none, pool URL CLIENT, or oidc ISSUER CLIENT AUDIENCE [ORIGIN …]".to_owned();
    ConfigError::Bad { name: NAME, value, takes }
}

/// Whether this is a URL that can stand in a Content-Security-Policy: nothing in it ends a directive.
fn is_url(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b";,'\"<>".contains(&byte));
    is_plain && (text.starts_with("https://") || text.starts_with("http://"))
}

/// The scheme, the host and the port of a URL.
fn origin(url: &str) -> String {
    url.split('/').take(3).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<Option<SignIn>, ConfigError> {
        SignIn::read(&Config::from_pairs([("PAGE", value)]))
    }

    #[test]
    fn each_form_is_read_and_others_are_refused() {
        assert_eq!(
            SignIn::read(&Config::from_pairs::<String, String>([])).unwrap(),
            Some(SignIn::None)
        );
        assert_eq!(read("off").unwrap(), None);
        assert_eq!(read("none").unwrap(), Some(SignIn::None));
        let pool = read("pool https://cognito-idp.eu-west-1.amazonaws.com/ abc").unwrap().unwrap();
        assert_eq!(pool.origins(), ["https://cognito-idp.eu-west-1.amazonaws.com"]);
        let oidc = "oidc https://a.example/realm id api https://b.example";
        let oidc = read(oidc).unwrap().unwrap();
        assert_eq!(oidc.origins(), ["https://a.example", "https://b.example"]);
        assert_eq!(oidc.json()["issuer"], "https://a.example/realm");
        let odd = ["on", "pool abc", "pool a b", "oidc https://a.example id", "none at all"];
        for odd in odd.into_iter().chain(["oidc https://a.example; id api", "pool https://a;b c"]) {
            assert!(read(odd).unwrap_err().to_string().contains("PAGE"), "{odd}");
        }
    }

    #[test]
    fn on_this_machine_the_pool_is_that_of_the_local_cloud() {
        let settings =
            [("PAGE", "pool https://a.example/ abc"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:9")];
        let found = SignIn::read(&Config::from_pairs(settings)).unwrap().unwrap();
        assert_eq!(found.origins(), ["http://127.0.0.1:9"]);
    }

    #[test]
    fn only_this_machine_has_demo_users() {
        let pool = ("PAGE", "pool https://a.example/ abc");
        let demo = ("PAGE_DEMO", "123456 secret ash birch");
        let read = |settings: &[(&'static str, &'static str)]| {
            let config = Config::from_pairs(settings.iter().copied());
            SignIn::read(&config).unwrap().unwrap().json()["demo"].clone()
        };
        let here = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
        let users = json!({"code": "123456", "password": "secret", "users": ["ash", "birch"]});
        assert_eq!(read(&[pool, demo, here]), users);
        assert_eq!(read(&[pool, demo]), Value::Null);
        assert_eq!(read(&[pool, here]), Value::Null);
    }
}
