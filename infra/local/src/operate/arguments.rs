//! Names of users and queues, checked before a system is looked for.

use fanfold_core::registry::QUEUES;
use fanfold_core::{Handle, Tag, UserId};

/// Checks that an argument is a user's id, or @ and a handle. The system checks later whether the user exists.
pub fn user(text: &str) -> Result<String, String> {
    let is_handle = text.strip_prefix('@').is_some_and(|handle| handle.parse::<Handle>().is_ok());
    if is_handle || text.parse::<UserId>().is_ok() {
        return Ok(text.to_owned());
    }
    Err("a user is an id of 16 hexadecimal digits, or @ and a handle, such as @ash".to_owned())
}

/// Checks that an argument names feeds: a user, # and a tag, or `public`.
pub fn feeds(text: &str) -> Result<String, String> {
    if text == "public" || (text.starts_with('#') && text.parse::<Tag>().is_ok()) {
        return Ok(text.to_owned());
    }
    user(text).map_err(|error| format!("name a user, # and a tag, or public; {error}"))
}

/// The queues that have a dead-letter queue.
pub fn queues() -> impl Iterator<Item = &'static str> {
    QUEUES.iter().map(|queue| queue.name)
}

#[cfg(test)]
mod tests {
    use super::{feeds, user};

    #[test]
    fn users_are_ids_or_handles() {
        for good in ["@ash", "0123456789abcdef"] {
            assert_eq!(user(good).as_deref(), Ok(good));
        }
        for bad in ["ash", "@", "@Bad Name!", "", "0123456789ABCDEF", "0123456789abcde"] {
            assert!(user(bad).is_err() && feeds(bad).is_err(), "{bad}");
        }
        for good in ["@ash", "#rust", "#Straße", "public"] {
            assert_eq!(feeds(good).as_deref(), Ok(good));
        }
        assert!(feeds("#").is_err() && feeds("#a b").is_err());
    }
}
