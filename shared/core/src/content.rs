//! What apps store with posts and profiles: JSON of their own, attachments and links.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use url::Url;

use crate::limits::{DATA_LEVELS_MAX, PIXELS_MAX, URL_CHARS_MAX};
use crate::text::{self, TextError};

/// The reason why data, an attachment or a link is refused. `field` is the field of the request.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("data is not a JSON object that clients can read: {reason}")]
    Data { reason: serde_json::Error },
    #[error("data is nested more than {DATA_LEVELS_MAX} levels deep")]
    TooDeep,
    #[error("{field} takes {found} bytes without white space; at most {max} are allowed")]
    TooBig { field: &'static str, found: usize, max: usize },
    #[error("there are {found} {field}; at most {max} are allowed")]
    TooMany { field: &'static str, found: usize, max: usize },
    #[error(
        "url must be an https URL of at most {URL_CHARS_MAX} characters, without a user name or a password"
    )]
    Url,
    #[error("media_type must be a type and a subtype, such as image/png")]
    MediaType,
    #[error("width and height must be 1 to {PIXELS_MAX}, and are given together")]
    Size,
    #[error("blurhash is not valid")]
    Blurhash,
    #[error(transparent)]
    Text(#[from] TextError),
}

/// A JSON object of an app. It is returned as it was sent, without the white space between its parts: its keys keep their order,
/// and its numbers their form.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Data(Box<RawValue>);

impl Data {
    /// Checks what was sent: an object that every client can read, also inside an answer.
    pub fn new(sent: &RawValue) -> Result<Self, ContentError> {
        let (text, levels) = compact(sent.get());
        let checked = || {
            serde_json::from_str::<Map<String, Value>>(sent.get())?;
            RawValue::from_string(text)
        };
        let data = checked().map_err(|reason| ContentError::Data { reason })?;
        match levels > DATA_LEVELS_MAX {
            true => Err(ContentError::TooDeep),
            false => Ok(Self(data)),
        }
    }

    /// The data of a change: `None` stays, and null is none.
    pub fn change(
        sent: Option<Option<Box<RawValue>>>,
    ) -> Result<Option<Option<Self>>, ContentError> {
        sent.map(|sent| sent.map(|sent| Self::new(&sent)).transpose()).transpose()
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Data {}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A JSON text without the white space between its parts, and the number of its levels.
fn compact(json: &str) -> (String, usize) {
    let (mut in_text, mut is_escaped) = (false, false);
    let (mut level, mut levels) = (0_usize, 0);
    let keeps = |char: &char| {
        match char {
            '{' | '[' if !in_text => level += 1,
            '}' | ']' if !in_text => level = level.saturating_sub(1),
            _ => {}
        }
        levels = levels.max(level);
        let is_kept = in_text || !char.is_ascii_whitespace();
        in_text ^= *char == '"' && !is_escaped;
        is_escaped = in_text && *char == '\\' && !is_escaped;
        is_kept
    };
    let text = json.chars().filter(keeps).collect();
    (text, levels)
}

/// A picture, a film or another file of a post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    pub url: String,
    pub media_type: String,
    /// The description, for those who do not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
    /// In pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// A blurred form of the picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blurhash: Option<String>,
}

impl Attachment {
    /// Checks an attachment as it was sent. A description without a character is none.
    pub fn checked(self) -> Result<Self, ContentError> {
        https(&self.url)?;
        if !is_media_type(&self.media_type) {
            return Err(ContentError::MediaType);
        }
        match (self.width, self.height) {
            (None, None) => {}
            (Some(width), Some(height))
                if [width, height].iter().all(|side| (1..=PIXELS_MAX).contains(side)) => {}
            _ => return Err(ContentError::Size),
        }
        if self.blurhash.as_deref().is_some_and(|hash| !is_blurhash(hash)) {
            return Err(ContentError::Blurhash);
        }
        let alt = self.alt.as_deref().map(text::alt).transpose()?.filter(|alt| !alt.is_empty());
        Ok(Self { alt, ..self })
    }
}

/// A link of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What is shown. Empty: the URL.
    pub label: String,
    pub url: String,
}

impl Link {
    /// Checks a link as it was sent.
    pub fn checked(self) -> Result<Self, ContentError> {
        https(&self.url)?;
        Ok(Self { label: text::label(&self.label)?, url: self.url })
    }
}

/// Refuses what is no `https` URL, or would show something else than where it leads.
fn https(url: &str) -> Result<(), ContentError> {
    let leads = |url: &Url| {
        url.scheme() == "https"
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    };
    // a parser passes over white space, and completes what begins in another way
    let is_sent = url.split_at_checked(8).is_some_and(|(begin, rest)| {
        begin.eq_ignore_ascii_case("https://") && !rest.starts_with(['/', '\\'])
    });
    let is_plain = |char: char| !char.is_whitespace() && text::plain("url", char).is_ok();
    let fits = url.chars().count() <= URL_CHARS_MAX && url.chars().all(is_plain);
    match is_sent && fits && Url::parse(url).is_ok_and(|url| leads(&url)) {
        true => Ok(()),
        false => Err(ContentError::Url),
    }
}

/// Whether a text is a type and a subtype (RFC 6838), without parameters.
fn is_media_type(text: &str) -> bool {
    let is_name = |name: &str| {
        (1..=127).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    text.split_once('/').is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

/// Whether a text is a blurhash: its first digit of base 83 tells its length.
fn is_blurhash(hash: &str) -> bool {
    const DIGITS: &str =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";
    let parts = hash.chars().next().and_then(|first| DIGITS.find(first)).filter(|size| *size < 81);
    let length = parts.map(|size| 4 + 2 * (size % 9 + 1) * (size / 9 + 1));
    length == Some(hash.len()) && hash.chars().all(|digit| DIGITS.contains(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(json: &str) -> Result<Data, ContentError> {
        Data::new(&RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test]
    fn data_stays_as_it_was_sent() {
        for (sent, kept) in [
            (
                r#"{ "b" : 1.10, "a" : [1e2, 12345678901234567890] }"#,
                r#"{"b":1.10,"a":[1e2,12345678901234567890]}"#,
            ),
            ("{\n\t\"a \\\" b\\\\\" :\r\n\" c \\u00e9\" }", r#"{"a \" b\\":" c \u00e9"}"#),
            ("{}", "{}"),
        ] {
            assert_eq!(data(sent).unwrap().as_str(), kept);
        }
        let nested = |levels: usize| {
            let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
            format!("{{\"a\":[],\"[[[\":{open}\"{{{{\"{close}}}")
        };
        assert!(data(&nested(DATA_LEVELS_MAX)).is_ok());
        let deep = data(&nested(DATA_LEVELS_MAX + 1));
        assert!(matches!(deep, Err(ContentError::TooDeep)), "{deep:?}");
        let deep = nested(200);
        for refused in ["[]", "1", "null", r#"{"a":1e999}"#, r#"{"a":"\ud800"}"#, &deep] {
            assert!(matches!(data(refused), Err(ContentError::Data { .. })), "{refused}");
        }
    }

    #[test]
    fn urls_lead_where_they_say() {
        let long = |length: usize| format!("https://example.com/{}", "x".repeat(length - 20));
        for url in [
            "https://example.com",
            "HTTPS://EXAMPLE.com:8443/a?b#c",
            "https://[2001:db8::1]/é",
            &long(2_048),
        ] {
            assert!(https(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "example.com",
            "http://example.com",
            "https:example.com",
            "https://",
            "https:///x",
            "javascript:alert(1)",
            "https://user@example.com",
            "https://:secret@example.com",
            "https://example.com/a b",
            "https://exa\nmple.com",
            " https://example.com",
            "https://example.com/\u{202e}gpj",
            &long(2_049),
        ] {
            assert!(matches!(https(url), Err(ContentError::Url)), "{url}");
        }
    }

    #[test]
    fn attachments_are_checked() {
        let picture = || Attachment {
            url: "https://example.com/owl.png".to_owned(),
            media_type: "image/png".to_owned(),
            alt: Some("  An owl.\r\nIt sleeps. ".to_owned()),
            width: Some(1),
            height: Some(PIXELS_MAX),
            blurhash: Some("LEHV6nWB2yk8pyo0adR*.7kCMdnj".to_owned()),
        };
        assert_eq!(picture().checked().unwrap().alt.as_deref(), Some("An owl.\nIt sleeps."));
        let empty = Attachment { alt: Some(" ".to_owned()), ..picture() };
        assert_eq!(empty.checked().unwrap().alt, None);
        let alt = |length: usize| Attachment { alt: Some("é".repeat(length)), ..picture() };
        assert!(alt(1_000).checked().is_ok());
        assert!(matches!(alt(1_001).checked(), Err(ContentError::Text(_))));
        for (width, height) in
            [(None, Some(1)), (Some(0), Some(1)), (Some(1), Some(PIXELS_MAX + 1))]
        {
            let refused = Attachment { width, height, ..picture() }.checked();
            assert!(matches!(refused, Err(ContentError::Size)));
        }
        for media_type in ["image", "image/", "image/png; q=1", "/png", "image/p ng"] {
            let refused = Attachment { media_type: media_type.to_owned(), ..picture() }.checked();
            assert!(matches!(refused, Err(ContentError::MediaType)), "{media_type}");
        }
        for hash in
            ["", "L", "LEHV6nWB2yk8pyo0adR*.7kCMdn", "LEHV6nWB2yk8pyo0adR*.7kCMdn\"", "~~~~~~"]
        {
            let refused = Attachment { blurhash: Some(hash.to_owned()), ..picture() }.checked();
            assert!(matches!(refused, Err(ContentError::Blurhash)), "{hash}");
        }
    }
}
