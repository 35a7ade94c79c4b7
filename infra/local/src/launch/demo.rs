//! Demo data: a few users, follows, posts and likes, and a leaderboard, made through the public API.

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
/// The author, the text, and who likes it.
const POSTS: [(&str, &str, &[&str]); 6] = [
    ("birch", "The first leaves are out.", &["cedar"]),
    ("cedar", "Evergreen, as always 🌲", &["ash", "birch", "dogwood"]),
    ("ash", "Good morning, forest.", &["birch"]),
    ("dogwood", "Blossoms by the weekend, I promise.", &["ash"]),
    ("birch", "Somebody carved a heart into me. Again.", &[]),
    ("ash", "Wind from the west. Hold on to your twigs.", &["cedar"]),
];

/// The leaderboard of the first user: heights in metres.
const BOARD: &str = "/v1/leaderboards/heights";
const HEIGHTS: [(&str, &str); 4] =
    [("ash", "33"), ("birch", "24"), ("cedar", "40"), ("dogwood", "8")];

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
    for (author, text, fans) in POSTS {
        let post = json!({"text": text});
        let made = request(system, &token(author)?, "POST", "/v1/posts", Some(&post), 201)?;
        let id = made.get("id").and_then(Value::as_str).unwrap_or_default();
        for fan in fans {
            let path = format!("/v1/posts/{id}/like");
            request(system, &token(fan)?, "PUT", &path, None, 204)?;
        }
    }
    let (owner, _) = USERS[0];
    let settings = json!({"orders": ["descending"]});
    request(system, &token(owner)?, "PUT", BOARD, Some(&settings), 201)?;
    let changes = HEIGHTS.map(|(member, height)| json!({"member": member, "set": [height]}));
    let changes = json!({"changes": changes});
    request(system, &token(owner)?, "POST", &format!("{BOARD}/members"), Some(&changes), 200)?;
    Ok(())
}

fn request(
    system: &System,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
    expected: u16,
) -> Done<Value> {
    let url = format!("{}{path}", system.servers.url);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let (status, answer) = http::call(method, &url, &headers, body)?;
    if status == expected {
        return Ok(answer);
    }
    Err(failure(format!("demo data: {method} {path} answered {status} {answer}")))
}
