//! The posts above a reply.

use fanfold_core::PostId;
use fanfold_core::id::IdError;
use fanfold_core::limits::ANCESTORS_MAX;
use serde::{Deserialize, Serialize};

/// The posts above a reply: the root of the thread, and from there down to the answered post. A post that is no reply has
/// none. Of more than [`ANCESTORS_MAX`], it is the root and the nearest ones. They are stored as one string.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Thread(Vec<PostId>);

impl Thread {
    /// The thread of a post that is no reply.
    pub const NONE: Self = Self(Vec::new());

    /// The thread of a reply to this post, which has this thread itself.
    pub fn below(&self, answered: PostId) -> Self {
        let mut above = self.0.clone();
        if above.len() >= ANCESTORS_MAX {
            // mutation: thread-root
            above.remove(1);
        }
        above.push(answered);
        Self(above)
    }

    /// The answered post. `None` for a post that is no reply.
    pub fn answered(&self) -> Option<PostId> {
        self.0.last().copied()
    }

    /// The first post of the thread. `None` for a post that is no reply.
    pub fn root(&self) -> Option<PostId> {
        self.0.first().copied()
    }

    /// The posts above, from the root down.
    pub fn above(&self) -> &[PostId] {
        &self.0
    }

    /// Whether this is the thread of a post that is no reply.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<String> for Thread {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl From<Thread> for String {
    fn from(thread: Thread) -> Self {
        let above: Vec<String> = thread.0.iter().map(PostId::to_string).collect();
        above.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_thread_keeps_its_root_and_its_end() {
        let (mut thread, all) = (Thread::default(), (1..=100).map(PostId).collect::<Vec<_>>());
        assert_eq!((thread.root(), thread.answered()), (None, None));
        for (depth, answered) in all.iter().enumerate() {
            thread = thread.below(*answered);
            let near = (depth + 2).saturating_sub(ANCESTORS_MAX).max(1);
            let expected = [&all[..1], &all[near..=depth]].concat();
            assert_eq!(thread.above(), if depth == 0 { &all[..1] } else { &expected });
            assert_eq!((thread.root(), thread.answered()), (Some(all[0]), Some(*answered)));
        }
        assert_eq!(Thread::try_from(String::from(thread.clone())), Ok(thread));
        assert_eq!(Thread::try_from(String::new()), Ok(Thread::default()));
        assert!(Thread::try_from("1".to_owned()).is_err());
    }
}
