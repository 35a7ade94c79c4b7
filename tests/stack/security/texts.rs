//! Attacks with Unicode over HTTP. `fanfold_core::text` says what is refused and why.

use reqwest::Method;
use serde_json::json;

use crate::harness::client::{Answer, Client};

async fn put_me(user: &Client, handle: &str, name: &str) -> Answer {
    let profile = json!({"handle": handle, "name": name});
    user.send(Method::PUT, "/v1/me", &[], Some(profile)).await
}

const REFUSED: (u16, &str) = (422, "/problems/invalid-text");

#[tokio::test]
async fn no_handle_looks_like_another() {
    let (owner, attacker) = (Client::new().await, Client::signed_in().await);
    let own = &owner.handle;
    let rest = &own[1..]; // all handles begin with "u"
    for alike in [
        format!("\u{57d}{rest}"),  // Armenian
        format!("\u{ff55}{rest}"), // full width
        format!("U{rest}"),
        format!("{own}\u{200b}"),
        format!("{own}\u{200d}"),
        format!("\u{feff}{own}"),
        format!("{own}\u{301}"),
        format!("{own}\u{ad}"),
        format!("\u{202e}{own}"),
        format!("{own} "),
        format!(" {own}"),
        format!("{own}."),
        format!("{own}\n"),
        format!("{own}\0"),
        format!("@{own}"),
        "\u{fb01}sh".to_owned(),  // the ligature fi
        "\u{430}sh".to_owned(),   // Cyrillic a
        "\u{1d41a}sh".to_owned(), // mathematical a
        "s\u{17f}".to_owned(),    // long s
        "\u{131}sh".to_owned(),   // dotless i
        "a\u{e0061}".to_owned(),  // a tag
        "xn--sh-7kc".to_owned(),
    ] {
        assert_eq!(put_me(&attacker, &alike, "Name").await.problem(), REFUSED, "{alike:?}");
    }
    let taken = put_me(&attacker, own, "Name").await;
    assert_eq!(taken.problem(), (409, "/problems/handle-taken"));
    assert_eq!(put_me(&attacker, &format!("{own}_"), "Name").await.status, 201);
}

#[tokio::test]
async fn invisible_and_text_altering_characters_are_refused() {
    let user = Client::new().await;
    let pile = format!("a{}", "\u{301}\u{334}".repeat(100));
    for bad in [
        "a\u{202e}b",
        "a\u{202a}b",
        "a\u{2066}b",
        "a\u{2069}b", // direction
        "a\u{2060}b",
        "a\u{feff}b",
        "a\u{2063}b", // invisible
        "a\u{e0041}\u{e0042}",
        "\u{1f3f4}\u{e0067}", // tags
        "a\u{e000}b",
        "a\u{10fffd}b",
        "a\u{fdd0}b",
        "a\u{fffe}b", // private or no characters
        "a\0b",
        "a\u{1b}[31mb",
        "a\u{8}b",
        "a\u{7f}b",
        "a\u{85}b", // control
        "\u{336}a",
        "\u{20dd}", // join the text before them
        "\u{200b}",
        "\u{3164}",
        "\u{2800}",
        "\u{200f}\u{200e}", // blank
        &pile,
    ] {
        let answer = user.post(bad).await;
        assert_eq!(answer.problem(), REFUSED, "{bad:?}");
        assert!(
            answer.text("/detail").starts_with("text "),
            "the detail does not name the field: {answer:?}"
        );
        let answer = put_me(&user, &user.handle, bad).await;
        assert_eq!(answer.problem(), REFUSED, "{bad:?}");
        assert!(
            answer.text("/detail").starts_with("name "),
            "the detail does not name the field: {answer:?}"
        );
    }
    for line in ["a\nb", "a\rb", "a\tb", "a\u{2028}b", "a\u{200b}b"] {
        assert_eq!(put_me(&user, &user.handle, line).await.problem(), REFUSED, "{line:?}");
    }
    let detail = user.post("a\u{202e}b").await.text("/detail");
    let expected = "text contains U+202E, which overrides the direction of writing; remove it";
    assert_eq!(detail, expected);
}

#[tokio::test]
async fn every_script_and_emoji_is_kept_as_written() {
    let user = Client::new().await;
    for written in [
        "e\u{301} and é are not made one",
        "می\u{200c}خواهم \u{200f}(1)\u{200e}",
        "שָׁלוֹם, world",
        "क\u{94d}\u{200d}ष र्त्स्न्य",
        "👩🏽\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨🏿 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        "\"quotes\", \\ and {\"text\":\"json\"} </script> ' OR 1=1 -- ${jndi:ldap://x} %s %n",
    ] {
        let posted = user.post(written).await;
        assert_eq!((posted.status, posted.text("/text").as_str()), (201, written));
        let read = user.get(&format!("/v1/posts/{}", posted.text("/id"))).await;
        assert_eq!(read.body, posted.body);
        let short: String = written.chars().take(30).collect();
        let named = put_me(&user, &user.handle, &short).await;
        assert_eq!((named.status, named.text("/name").as_str()), (200, short.trim()));
    }
    let khmer = "សួស្តី\u{200b}ពិភពលោក";
    assert_eq!(user.post(khmer).await.text("/text"), khmer);
    let lines = user.post("a\r\nb\rc\u{2028}d\ne").await;
    assert_eq!(lines.text("/text"), "a\nb\nc\nd\ne");
}
