//! Reads kind, version and post of a body that cannot be decoded.

use fanfold_core::PostId;
use serde::Deserialize;
use serde_json::Value;

/// The kind, version and post of a body that cannot be decoded.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Head {
    #[serde(rename = "type")]
    kind: Value,
    v: Value,
    post: Value,
}

impl Head {
    /// Reads the fields as far as possible.
    pub fn of(body: &str) -> Self {
        serde_json::from_str(body).unwrap_or_default()
    }

    /// The version, if it is a newer version of one of these types. A newer function sent the message and can read it.
    pub fn newer(&self, types: &[(&str, u32)]) -> Option<u64> {
        let (_, known) = types.iter().find(|(kind, _)| self.kind == *kind)?;
        self.v.as_u64().filter(|v| *v > u64::from(*known))
    }

    /// The post, for the log.
    pub fn post(&self) -> Option<PostId> {
        self.post.as_str()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_version_of_a_known_kind_is_not_poison() {
        let newer = |body| Head::of(body).newer(&[("PostPublished", 1), ("RebuildFeed", 1)]);
        assert_eq!(newer(r#"{"type":"PostPublished","v":2,"post":{"any":"form"}}"#), Some(2));
        assert_eq!(newer(r#"{"v":4000000000000,"type":"RebuildFeed"}"#), Some(4_000_000_000_000));
        for poison in [
            "",
            "{",
            "7",
            r#"{"type":"PostPublished","v":1}"#,
            r#"{"type":"PostPublished","v":0}"#,
            r#"{"type":"PostPublished","v":-2}"#,
            r#"{"type":"PostPublished","v":"2"}"#,
            r#"{"type":"PostPublished"}"#,
            r#"{"type":"SomethingElse","v":2}"#,
            r#"{"type":"PostPublished","v":2"#,
        ] {
            assert_eq!(newer(poison), None, "{poison}");
        }
    }

    #[test]
    fn the_post_of_an_unreadable_body_is_found() {
        let post = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let body = format!(r#"{{"type":"PostPublished","v":9,"post":"{post}"}}"#);
        assert_eq!(Head::of(&body).post(), post.parse().ok());
        assert_eq!(Head::of(r#"{"post":"x\ny"}"#).post(), None);
    }
}
