//! What the table of kinds says of each, and the types that are made of it.

/// A phase of erasing a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// A note replaces the profile, so that nothing more is written for the user. The note is removed last.
    Deny,
    /// What others see is removed, while functions may still use earlier state. Tombstones stay.
    Empty,
    /// Caches are removed.
    Forget,
    /// After all functions that had read earlier state have ended: the rest.
    Erase,
}

/// What becomes of data when its user is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is removed in these phases, or by messages that they send.
    In(&'static [Phase]),
    /// It stays, for this reason.
    Stays(&'static str),
}

/// What the export of a user has of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    /// Lines with this `type`.
    As(&'static str),
    /// Nothing, for this reason.
    Not(&'static str),
}

impl Export {
    /// The `type` of the lines. `None`: there are none.
    pub const fn line_type(self) -> Option<&'static str> {
        match self {
            Self::As(name) => Some(name),
            Self::Not(_) => None,
        }
    }
}

/// What the id of a card consists of. The bucket is that of the author, of the user or hash, or of the first of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Post,
    One,
    Two,
}

/// How the names of a kind of cards begin in the queue of a bucket, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardSpec {
    pub letter: u8,
    pub form: Form,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal {
        $(limits { $($(#[$limit_doc:meta])* $limit:ident $limit_name:literal $of:literal, $setting:literal $default:literal at most $max:literal;)* })?
        items { $($(#[$item_doc:meta])* $item:ident $prefix:literal, $removal:expr, $export:expr;)* }
        $(keys { $($(#[$key_doc:meta])* $key:ident $key_name:literal $($letter:literal $form:ident)?, $key_removal:expr;)* })?
    })*) => {
        /// A kind of data.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All kinds, in the order in which their data is removed.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The name in cursors of exports and in texts.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),* }
            }

            /// The kind with this name. `None` if there is none.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }

            /// Its kinds of items.
            pub const fn items(self) -> &'static [ItemKind] {
                match self { $(Self::$kind => &[$(ItemKind::$item),*]),* }
            }
        }

        /// The kinds of items, by how their partition keys begin.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ItemKind {
            $($($(#[$item_doc])* $item,)*)*
        }

        impl ItemKind {
            /// All kinds of items.
            pub const ALL: &[Self] = &[$($(Self::$item),*),*];

            /// The beginning of the partition keys of this kind.
            pub const fn prefix(self) -> &'static str {
                match self { $($(Self::$item => $prefix,)*)* }
            }

            /// What becomes of these items when their user is erased.
            pub const fn removal(self) -> Removal {
                match self { $($(Self::$item => $removal,)*)* }
            }

            /// What the export of their user has of them.
            pub const fn export(self) -> Export {
                match self { $($(Self::$item => $export,)*)* }
            }
        }

        /// The kinds of keys in Valkey.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum KeyKind {
            /// A feed.
            Feed(FeedKind),
            $($($($(#[$key_doc])* $key,)*)?)*
        }

        impl KeyKind {
            /// All kinds of keys.
            pub fn all() -> impl Iterator<Item = Self> + Clone {
                let others = [$($($(Self::$key,)*)?)*];
                FeedKind::ALL.iter().copied().map(Self::Feed).chain(others)
            }

            /// The name of the kind. Keys begin with it and a colon.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Feed(kind) => kind.name(),
                    $($($(Self::$key => $key_name,)*)?)*
                }
            }

            /// What becomes of these keys when their user is erased.
            pub const fn removal(self) -> Removal {
                match self {
                    Self::Feed(kind) => match kind.owned_by() {
                        OwnedBy::User => In(&[Forget]),
                        OwnedBy::Everybody => Stays("messages take the posts of the user out of it"),
                    },
                    $($($(Self::$key => $key_removal,)*)?)*
                }
            }

            /// How cards with these keys are named. `None`: the keys are no cards.
            pub const fn card(self) -> Option<CardSpec> {
                match self {
                    $($($($(Self::$key => Some(CardSpec { letter: $letter, form: $form }),)?)*)?)*
                    _ => None,
                }
            }
        }

        /// A kind of requests that has its own limit: writes, and reads that cost as much.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum LimitKind {
            $($($($(#[$limit_doc])* $limit,)*)?)*
        }

        impl LimitKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$($($(Self::$limit,)*)?)*];

            /// The name in keys and logs.
            pub const fn name(self) -> &'static str {
                match self { $($($(Self::$limit => $limit_name,)*)?)* }
            }

            /// What is counted, in the plural.
            pub const fn counted(self) -> &'static str {
                match self { $($($(Self::$limit => $of,)*)?)* }
            }

            /// The setting with the number of requests per minute, its default, and the greatest number.
            pub const fn setting(self) -> (&'static str, u64, u64) {
                match self {
                    $($($(Self::$limit => ($setting, $default, $max),)*)?)*
                }
            }
        }
    };
}
