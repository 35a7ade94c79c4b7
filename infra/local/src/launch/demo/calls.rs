//! What demo users do, a call of the API each.

use std::time::{SystemTime, UNIX_EPOCH};

use fanfold_core::time::Time;
use serde_json::{Value, json};

use super::api::{Api, Person};
use super::posts::{POSTS, Post};
use crate::base::failure::{Done, failure};

/// Signs a person up, and makes the profile.
pub fn make(api: &Api, handle: &str, name: &str) -> Done<Person> {
    let mut person = api.join(handle)?;
    let about = POSTS.about.get(handle).cloned().unwrap_or_default();
    let profile = json!({"handle": handle, "name": name, "about": about});
    let made = api.call(&person, "PUT", "/v1/me", Some(&profile))?;
    let id = made.get("id").and_then(Value::as_str).unwrap_or_default();
    person.id = id.to_owned();
    Ok(person)
}

pub fn follow(api: &Api, follower: &Person, author: &str) -> Done<()> {
    api.call(follower, "PUT", &format!("/v1/users/@{author}/follow"), None).map(drop)
}

pub fn follow_tag(api: &Api, follower: &Person, tag: &str) -> Done<()> {
    api.call(follower, "PUT", &format!("/v1/tags/{tag}/follow"), None).map(drop)
}

/// Puts a mark on a post: the last segment of its route.
pub fn mark(api: &Api, fan: &Person, post: &str, mark: &str) -> Done<()> {
    api.call(fan, "PUT", &format!("/v1/posts/{post}/{mark}"), None).map(drop)
}

/// Publishes a post, and returns its id.
pub fn post(api: &Api, author: &Person, text: &str) -> Done<String> {
    publish(api, author, &json!({"text": text}))
}

/// Publishes a built-in post, and returns its id.
pub fn built_in(api: &Api, author: &Person, post: &Post) -> Done<String> {
    publish(api, author, &json!({"text": post.text, "attachments": post.attachments}))
}

fn publish(api: &Api, author: &Person, post: &Value) -> Done<String> {
    let made = api.call(author, "POST", "/v1/posts", Some(post))?;
    let id = made.get("id").and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| failure("demo data: a post has no id"))
}

/// Answers a post.
pub fn answer(api: &Api, author: &Person, post: &str, text: &str) -> Done<()> {
    let reply = json!({"text": text, "in_reply_to": post});
    api.call(author, "POST", "/v1/posts", Some(&reply)).map(drop)
}

pub fn schedule(api: &Api, author: &Person, text: &str, at: Time) -> Done<()> {
    let post = json!({"text": text, "publish_at": at.rfc3339()});
    api.call(author, "POST", "/v1/posts", Some(&post)).map(drop)
}

/// The time of this machine.
pub fn now() -> Time {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::EPOCH + since_1970
}
