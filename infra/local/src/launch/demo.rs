//! Demo data: a few users, follows and posts, made through the public API.

use serde_json::{Value, json};

use crate::base::failure::{Done, failure};
use crate::base::http;
use crate::launch::system::System;

const USERS: [(&str, &str); 4] =
    [("ash", "Ash"), ("birch", "Birch"), ("cedar", "Cedar"), ("dogwood", "Dogwood")];
const FOLLOWS: [(&str, &str); 6] = [
    ("ash", "birch"),
    ("ash", "cedar"),
    ("birch", "ash"),
    ("cedar", "ash"),
    ("dogwood", "ash"),
    ("dogwood", "birch"),
];
const POSTS: [(&str, &str); 6] = [
    ("birch", "The first leaves are out."),
    ("cedar", "Evergreen, as always 🌲"),
    ("ash", "Good morning, forest."),
    ("dogwood", "Blossoms by the weekend, I promise."),
    ("birch", "Somebody carved a heart into me. Again."),
    ("ash", "Wind from the west. Hold on to your twigs."),
];

/// Makes the demo data.
pub fn fill(system: &System) -> Done<()> {
    let pool = system.user_pool()?;
    let mut tokens = Vec::new();
    for (handle, name) in USERS {
        let token = pool.token(handle)?;
        let profile = json!({"handle": handle, "name": name});
        request(system, &token, "PUT", "/v1/me", Some(&profile), 201)?;
        tokens.push((handle, token));
    }
    let token = |handle: &str| {
        let found = tokens.iter().find(|(name, _)| *name == handle);
        found.map(|(_, token)| token.clone()).ok_or_else(|| failure(format!("no user {handle}")))
    };
    for (follower, author) in FOLLOWS {
        let path = format!("/v1/users/@{author}/follow");
        request(system, &token(follower)?, "PUT", &path, None, 204)?;
    }
    for (author, text) in POSTS {
        let post = json!({"text": text});
        request(system, &token(author)?, "POST", "/v1/posts", Some(&post), 201)?;
    }
    Ok(())
}

fn request(
    system: &System,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
    expected: u16,
) -> Done<()> {
    let url = format!("{}{path}", system.servers.url);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let (status, answer) = http::call(method, &url, &headers, body)?;
    if status == expected {
        return Ok(());
    }
    Err(failure(format!("demo data: {method} {path} answered {status} {answer}")))
}
