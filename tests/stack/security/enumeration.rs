//! Attempts to guess ids, and other spellings of ids.

use fanfold_core::{PostId, ScheduledId, UserId};
use fanfold_runtime::clock;
use reqwest::Method;
use serde_json::{Value, json};

use super::callers::marks;
use super::wire;
use crate::harness::client::Client;

/// The body of an answer without the id, to compare two answers.
fn shape(mut body: Value, id: &str) -> String {
    body["detail"] = body["detail"].as_str().unwrap_or_default().replace(id, "ID").into();
    body.to_string()
}

#[tokio::test]
async fn deleted_and_unknown_posts_have_the_same_answer() {
    let (author, other) = (Client::new().await, Client::new().await);
    let deleted = author.publish("gone").await;
    assert_eq!(author.delete(&format!("/v1/posts/{deleted}")).await.status, 204);
    let user: UserId = author.id.parse().expect("an id");
    let now = clock::now();
    let never =
        [PostId::new(now, 7, user), PostId::new(now, 7, UserId(7)), PostId::MIN, PostId::MAX];
    for asking in [&author, &other] {
        let gone = asking.get(&format!("/v1/posts/{deleted}")).await;
        assert_eq!(gone.problem(), (404, "/problems/no-such-post"));
        for never in never.map(|post| post.to_string()) {
            let answer = asking.get(&format!("/v1/posts/{never}")).await;
            assert_eq!(answer.status, 404, "{answer:?}");
            assert_eq!(shape(answer.body, &never), shape(gone.body.clone(), &deleted));
            assert_eq!(answer.headers.len(), gone.headers.len(), "the headers differ");
        }
    }
    let marks = marks().into_iter().map(|mark| (mark, true));
    for (part, puts) in marks.chain([("likes".to_owned(), false)]) {
        let path = |post: &str| format!("/v1/posts/{post}/{part}");
        let ask = async |post: &str| match puts {
            true => other.put(&path(post)).await,
            false => other.get(&path(post)).await,
        };
        let gone = ask(&deleted).await;
        assert_eq!(gone.problem(), (404, "/problems/no-such-post"));
        for never in never.map(|post| post.to_string()) {
            let answer = ask(&never).await;
            assert_eq!(answer.status, 404, "{answer:?}");
            assert_eq!(shape(answer.body, &never), shape(gone.body.clone(), &deleted));
        }
    }
    // the posts of another user are refused before they are read
    for post in [&deleted, &never[0].to_string()] {
        assert_eq!(other.delete(&format!("/v1/posts/{post}")).await.status, 403);
        assert_eq!(other.get(&format!("/v1/posts/{post}/delivery")).await.status, 403);
    }
}

#[tokio::test]
async fn unknown_and_foreign_scheduled_posts_have_the_same_answer() {
    let (author, other) = (Client::new().await, Client::new().await);
    let later = (clock::now() + std::time::Duration::from_secs(3_600)).rfc3339();
    let mut made = Vec::new();
    for _ in 0..2 {
        let body = Some(json!({"text": "later", "publish_at": later}));
        made.push(author.send(Method::POST, "/v1/posts", &[], body).await.text("/id"));
    }
    let [waiting, cancelled] = &made[..] else { panic!("{made:?}") };
    assert_eq!(author.delete(&format!("/v1/scheduled/{cancelled}")).await.status, 204);
    let user: UserId = author.id.parse().expect("an id");
    let unknown = ScheduledId::new(clock::now(), 7, user).to_string();
    let nobody = ScheduledId::new(clock::now(), 7, UserId(7)).to_string();
    for method in [Method::GET, Method::PATCH, Method::DELETE] {
        let body = (method == Method::PATCH).then(|| json!({"text": "mine now"}));
        let mut shapes = Vec::new();
        for id in [waiting, cancelled, &unknown, &nobody] {
            let path = format!("/v1/scheduled/{id}");
            let answer = other.send(method.clone(), &path, &[], body.clone()).await;
            assert_eq!(answer.problem(), (404, "/problems/no-such-scheduled-post"), "{path}");
            shapes.push((answer.headers.len(), shape(answer.body, id)));
        }
        shapes.dedup();
        assert_eq!(shapes.len(), 1, "{method}: {shapes:?}");
    }
    assert_eq!(author.get(&format!("/v1/scheduled/{waiting}")).await.status, 200);
}

#[tokio::test]
async fn no_route_lists_all_users_or_posts() {
    let user = Client::new().await;
    for path in [
        "/v1/users",
        "/v1/users/",
        "/v1/posts",
        "/v1/users?limit=100",
        "/v1",
        "/v1/users/@",
        "/v1/users/*",
        "/v1/users/@*",
        "/v1/users/%25",
        "/v1/search?q=a",
    ] {
        let answer = user.get(path).await;
        assert!([400, 404, 405].contains(&answer.status), "{path}: {answer:?}");
        assert!(answer.body.get("items").is_none(), "{path}");
    }
    // ids are hashes of issuer and subject, so the ids of two successive users are far apart
    let next = Client::new().await;
    let number = |user: &Client| user.id.parse::<UserId>().expect("an id").0;
    assert!(number(&user).abs_diff(number(&next)) > 1 << 24);
}

/// Another spelling is the same id, or it is refused.
#[tokio::test]
async fn another_spelling_is_the_same_id_or_invalid() {
    let author = Client::new().await;
    let post = author.publish("text").await;
    let token = author.token.clone().expect("a token");
    let wide = |text: &str| -> String {
        let wide = |c: char| char::from_u32(c as u32 + 0xfee0).expect("a character");
        let utf8: Vec<u8> = text.chars().map(wide).collect::<String>().into_bytes();
        utf8.iter().map(|byte| format!("%{byte:02x}")).collect()
    };
    let percent = |text: &str| -> String { text.bytes().map(|b| format!("%{b:02X}")).collect() };
    let mut bad = vec![
        format!("posts/{}", post.to_lowercase()),
        format!("posts/0{post}"),
        format!("posts/{}", &post[1..]),
        format!("posts/8{}", &post[1..]), // more than 128 bits
        format!("posts/Z{}", &post[1..]),
        format!("posts/{post}%00"),
        format!("posts/{post}%20"),
        format!("posts/%20{post}"),
        format!("posts/{post}%0a"),
        format!("posts/{}", wide(&post)),
        format!("posts/{}", post.replacen('0', "O", 1)),
        format!("users/{}", author.id.to_uppercase()),
        format!("users/0{}", author.id),
        format!("users/0x{}", author.id),
        format!("users/+{}", &author.id[1..]),
        format!("users/{}%00", author.id),
        format!("users/{}", wide(&author.id)),
        format!("users/@{}", author.handle.to_uppercase()),
        format!("users/@{}", wide(&author.handle)),
        format!("users/@{}%20", author.handle),
        format!("users/@{}.", author.handle),
        format!("users/@@{}", author.handle),
        format!("users/%EF%BC%A0{}", author.handle),
        format!("users/@{}%e2%80%8b", author.handle),
        format!("users/@{}%0d%0a", author.handle),
        "users/ffffffffffffffffffffffffffffffff".to_owned(),
    ];
    bad.retain(|path| !path.ends_with(&author.id) && !path.ends_with(&post));
    for path in bad {
        let answer = wire::send_as(&token, "GET", &format!("/v1/{path}"), "", b"");
        assert_eq!(answer.problem(), (400, "/problems/invalid-id".to_owned()), "{path}");
    }
    for (path, id) in [
        (format!("posts/{}", percent(&post)), &post),
        (format!("users/{}", percent(&author.id)), &author.id),
        (format!("users/%40{}", author.handle), &author.id),
        (format!("users/@{}", percent(&author.handle)), &author.id),
    ] {
        let answer = wire::send_as(&token, "GET", &format!("/v1/{path}"), "", b"");
        assert_eq!(
            (answer.status, &answer.json()["id"]),
            (200, &Value::from(id.as_str())),
            "{path}"
        );
    }
    let twice =
        wire::send_as(&token, "GET", &format!("/v1/posts/%25{:02X}", post.as_bytes()[0]), "", b"");
    assert_eq!(twice.status, 400);
    let kept = author.delete(&format!("/v1/posts/{}", post.to_lowercase())).await;
    assert_eq!(kept.problem(), (400, "/problems/invalid-id"));
}
