//! The names of all keys. A user's keys carry the user's bucket as their hash tag, so one script
//! call may touch all users of a bucket, on one node or on a cluster.
//!
//! A name stands for one form of what lies under it; members carry no version. Another form gets other
//! names (`home2:{b}:…`), and two releases: the first writes to both and reads the old one, so that a
//! function that is still older finds all it knows; the second writes and reads the new one alone. New
//! feeds begin empty and are rebuilt, and what is left under old names is dropped once.

use std::fmt;

use fanfold_core::UserId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeedKind {
    /// The merged posts of everyone a user follows, and their own.
    Home,
    /// The posts of one author.
    Author,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Feed {
    pub kind: FeedKind,
    pub user: UserId,
}

impl Feed {
    pub fn home(user: UserId) -> Self {
        Self { kind: FeedKind::Home, user }
    }

    pub fn author(user: UserId) -> Self {
        Self { kind: FeedKind::Author, user }
    }

    /// The two feeds in which an author's own posts stand.
    pub fn own(author: UserId) -> [Self; 2] {
        [Self::author(author), Self::home(author)]
    }

    /// The feed of this key.
    pub fn of_key(key: &str) -> Option<Self> {
        let (name, rest) = key.split_once(":{")?;
        let kind = match name {
            "home" => FeedKind::Home,
            "author" => FeedKind::Author,
            _ => return None,
        };
        Some(Self { kind, user: rest.split_once("}:")?.1.parse().ok()? })
    }
}

impl fmt::Display for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            FeedKind::Home => "home",
            FeedKind::Author => "author",
        };
        write!(f, "{name} {}", self.user)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Keys {
    buckets: u16,
}

/// The kinds of keys: how the name of each begins.
pub const KINDS: [&str; 7] = ["home", "author", "live", "memory", "rel", "rels", "lock"];

impl Keys {
    pub fn new(buckets: u16) -> Self {
        Self { buckets: buckets.max(1) }
    }

    pub fn buckets(self) -> u16 {
        self.buckets
    }

    pub fn bucket(self, user: UserId) -> u16 {
        user.bucket(self.buckets)
    }

    /// A feed's own key, which is its member in `live`, too.
    pub fn feed(self, feed: Feed) -> String {
        let name = match feed.kind {
            FeedKind::Home => "home",
            FeedKind::Author => "author",
        };
        format!("{name}:{{{}}}:{}", self.bucket(feed.user), feed.user)
    }

    pub fn live(self, bucket: u16) -> String {
        format!("live:{{{bucket}}}")
    }

    /// Since when the server remembers a bucket.
    pub fn memory(self, bucket: u16) -> String {
        format!("memory:{{{bucket}}}")
    }

    /// Changes of relations between users of a bucket and an author, who may be of any other.
    pub fn rel(self, bucket: u16, author: UserId) -> String {
        format!("rel:{{{bucket}}}:{author}")
    }

    /// The `rel` keys of a bucket, each with the time of its last change.
    pub fn rels(self, bucket: u16) -> String {
        format!("rels:{{{bucket}}}")
    }

    /// A key of some kind that is no user's.
    pub fn of_nobody(self, kind: &str, bucket: u16) -> String {
        format!("{kind}:{{{bucket}}}:nobody")
    }

    pub fn lock(self, feed: Feed) -> String {
        format!("lock:{}", self.feed(feed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feeds_keys_share_its_hash_tag() {
        let (keys, feed) = (Keys::new(256), Feed::home(UserId(0x0123_4567_0000_0105)));
        assert_eq!(keys.feed(feed), "home:{5}:0123456700000105");
        assert_eq!(keys.lock(feed), "lock:home:{5}:0123456700000105");
        assert_eq!(keys.live(keys.bucket(feed.user)), "live:{5}");
        assert_eq!(keys.rels(keys.bucket(feed.user)), "rels:{5}");
        assert_eq!(Feed::of_key(&keys.feed(feed)), Some(feed));
        for other in ["", "é", "home:{5}", "lock:home:{5}:0123456700000105", "home:{5}:x"] {
            assert_eq!(Feed::of_key(other), None);
        }
    }
}
