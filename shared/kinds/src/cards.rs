//! Cards: what pages show of posts, users, relations, likes and boards. They come from Valkey, and from DynamoDB where Valkey has none.
//!
//! A reader that misses a card takes its lease, reads the item and fills the card, while other readers wait for a
//! moment. A writer marks the cards of changed items as stale after its commit. `valkey/lua/_cards.lua` describes why a
//! card is never older than a commit whose writer has marked it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use fanfold_core::limits::{CARD_KEPT, CARD_MARK_WITHIN, LIKES_CARD_MAX};
use fanfold_core::{BoardId, Handle, HandleHash, PostId, Time, UserId, UserRef};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::log::Chain;
use fanfold_runtime::{clock, metrics};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::boards::items::{BoardStore, StoredBoard};
use crate::feeds::ReadContext;
use crate::follows::items::GraphStore;
use crate::likes::items::LikeStore;
use crate::people::items::{Profile, UserStore};
use crate::posts::items::{Post, PostState, PostStore};
use fanfold_engines::valkey::{CardId, CardRead, Fill, Valkey};

/// How long it is kept that a user has no profile.
const CARD_OF_NOBODY_KEPT: Duration = Duration::from_secs(10);
/// Times that a reader looks for a card that another reader is reading, 5 to 320 ms apart. Together this takes longer
/// than `CARD_LEASE`. After that the reader reads the item itself.
const CARD_LOOKS_MAX: u32 = 7;

/// What is shown of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCard {
    /// The user's id.
    pub id: UserId,
    /// The handle, without `@`.
    pub handle: Handle,
    /// The name that is shown.
    pub name: String,
    /// The number of posts.
    pub posts: u64,
    /// The number of followers at the last count.
    pub followers: u64,
    /// The number of followed authors.
    pub following: u64,
}

impl From<&Profile> for UserCard {
    fn from(profile: &Profile) -> Self {
        Self {
            id: profile.id,
            handle: profile.handle.clone(),
            name: profile.name.clone(),
            posts: profile.posts,
            followers: profile.followers,
            following: profile.following,
        }
    }
}

impl From<Profile> for UserCard {
    fn from(profile: Profile) -> Self {
        Self::from(&profile)
    }
}

/// What an item is, as its card says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Card {
    /// The state of a post.
    Post(PostState),
    /// The user, if there is a profile.
    User(Option<UserCard>),
    /// The user who had the handle when the card was filled. The user's card says whether this is still so.
    Handle(Option<UserId>),
    /// Whether the viewer follows the user.
    Relation(bool),
    /// What the viewer likes, of the newest posts.
    Likes(NewestLiked),
    /// The board, if it exists.
    Board(Option<Box<StoredBoard>>),
}

/// What a viewer likes, of the newest posts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestLiked {
    /// The liked posts with the greatest ids, greatest first.
    posts: Vec<PostId>,
    /// Whether the viewer likes no other posts.
    is_all: bool,
}

impl NewestLiked {
    /// The result of a read of [`LIKES_CARD_MAX`] liked posts.
    fn read(posts: Vec<PostId>) -> Self {
        let is_all = posts.len() < LIKES_CARD_MAX;
        Self { posts, is_all }
    }

    /// Whether the viewer likes a post. `None`: the post is older than these.
    fn has(&self, post: PostId) -> Option<bool> {
        match self.posts.binary_search_by(|liked| post.cmp(liked)) {
            Ok(_) => Some(true),
            // mutation: likes-floor
            Err(place) => (self.is_all || place < self.posts.len()).then_some(false),
        }
    }

    /// The ids, 16 bytes each, after one byte that says whether they are all.
    fn text(&self) -> Vec<u8> {
        let ids = self.posts.iter().flat_map(|post| post.0.to_be_bytes());
        std::iter::once(if self.is_all { ALL } else { NEWEST }).chain(ids).collect()
    }

    fn decode(text: &[u8]) -> Option<Self> {
        let (head, ids) = text.split_first().filter(|(head, _)| [ALL, NEWEST].contains(*head))?;
        let (ids, rest) = ids.as_chunks::<16>();
        let posts = ids.iter().map(|id| PostId(u128::from_be_bytes(*id))).collect();
        rest.is_empty().then_some(Self { posts, is_all: *head == ALL })
    }
}

const ALL: u8 = b'a';
const NEWEST: u8 = b'n';

/// The texts of cards, in JSON. Names are short, because they are stored with each card.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PostText {
    /// The text. `None`: the post was deleted.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The number of likes.
    #[serde(rename = "l", default, skip_serializing_if = "is_zero")]
    likes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserText {
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoardText {
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    board: Option<Box<StoredBoard>>,
}

#[derive(Serialize, Deserialize)]
struct ProfileText(Handle, String, u64, u64, u64);

impl Card {
    /// The text that is kept in Valkey, and for how long. `None`: nothing is kept.
    fn text(&self) -> Option<(Vec<u8>, Duration, bool)> {
        let (text, kept, counts) = match self {
            // it may be committed later
            Self::Post(PostState::Missing) | Self::Handle(None) => return None,
            Self::Post(PostState::Deleted) => {
                (serde_json::to_vec(&PostText { text: None, likes: 0 }), CARD_KEPT, true)
            }
            Self::Post(PostState::Published(Post { id: _, text, likes })) => {
                let text = PostText { text: Some(text.clone()), likes: *likes };
                (serde_json::to_vec(&text), CARD_KEPT, true)
            }
            Self::User(None) => {
                (serde_json::to_vec(&UserText { profile: None }), CARD_OF_NOBODY_KEPT, false)
            }
            Self::User(Some(card)) => {
                let UserCard { id: _, handle, name, posts, followers, following } = card.clone();
                let profile = ProfileText(handle, name, posts, followers, following);
                (serde_json::to_vec(&UserText { profile: Some(profile) }), CARD_KEPT, true)
            }
            Self::Handle(Some(user)) => (serde_json::to_vec(user), CARD_KEPT, true),
            Self::Relation(follows) => (serde_json::to_vec(follows), CARD_KEPT, true),
            // mutation: likes-card-kept
            Self::Likes(liked) => (Ok(liked.text()), CARD_KEPT, true),
            Self::Board(None) => {
                (serde_json::to_vec(&BoardText { board: None }), CARD_OF_NOBODY_KEPT, false)
            }
            Self::Board(board) => {
                (serde_json::to_vec(&BoardText { board: board.clone() }), CARD_KEPT, true)
            }
        };
        // these types always have a form in JSON
        Some((text.ok()?, kept, counts))
    }

    /// Decodes a kept text. `None`: it has another form, so the item must be read.
    fn decode(id: &CardId, text: &[u8]) -> Option<Self> {
        let card = match id {
            CardId::Post(post) => {
                let PostText { text, likes } = serde_json::from_slice(text).ok()?;
                let published = |text| PostState::Published(Post { id: *post, text, likes });
                Self::Post(text.map_or(PostState::Deleted, published))
            }
            CardId::User(user) => {
                let UserText { profile } = serde_json::from_slice(text).ok()?;
                Self::User(profile.map(|profile| {
                    let ProfileText(handle, name, posts, followers, following) = profile;
                    UserCard { id: *user, handle, name, posts, followers, following }
                }))
            }
            CardId::Handle(_) => Self::Handle(Some(serde_json::from_slice(text).ok()?)),
            CardId::Relation(..) => Self::Relation(serde_json::from_slice(text).ok()?),
            CardId::Likes(_) => Self::Likes(NewestLiked::decode(text)?),
            CardId::Board(_) => {
                let BoardText { board } = serde_json::from_slice(text).ok()?;
                Self::Board(board)
            }
        };
        Some(card)
    }
}

/// Cards of users, from both stores.
#[derive(Clone)]
pub struct UserCards {
    /// The cards in Valkey.
    pub valkey: Valkey,
    /// The profiles in DynamoDB.
    pub users: UserStore,
}

/// Cards of users with a viewer's relations to them, from both stores.
#[derive(Clone)]
pub struct RelationCards {
    /// The cards of users.
    pub users: UserCards,
    /// The relations in DynamoDB.
    pub graph: GraphStore,
}

/// A user as a viewer sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenUser {
    /// What every viewer sees.
    pub card: UserCard,
    /// Whether the viewer follows this user.
    pub is_followed: bool,
}

/// Cards of posts and of their authors, from both stores.
#[derive(Clone)]
pub struct PostCards {
    /// The cards of the authors.
    pub users: UserCards,
    /// The posts in DynamoDB.
    pub posts: PostStore,
    /// The likes in DynamoDB.
    pub likes: LikeStore,
}

/// A post that a reader asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostWithAuthor {
    /// The state of the post.
    pub state: PostState,
    /// The author, if there is a profile.
    pub author: Option<UserCard>,
    /// Whether the viewer likes the post.
    pub liked: bool,
}

/// The result of comparing cards with DynamoDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The number of cards that were compared.
    pub cards: u64,
    /// The cards that differ.
    pub differing: HashMap<CardId, Card>,
}

impl UserCards {
    /// Reads the settings of both stores. An error names the setting.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { valkey: Valkey::new(sdk, config)?, users: UserStore::new(sdk, config)? })
    }

    /// The users with these ids. Users without a profile are left out.
    pub async fn users(
        &self,
        users: &[UserId],
        reading: &ReadContext,
    ) -> Result<HashMap<UserId, UserCard>, StoreError> {
        let seen = self.look(reading).users(users).await?;
        Ok(seen.into_iter().map(|(user, seen)| (user, seen.card)).collect())
    }

    /// The user with this id or handle. `None` if there is none.
    pub async fn find(
        &self,
        user: &UserRef,
        reading: &ReadContext,
    ) -> Result<Option<UserCard>, StoreError> {
        Ok(self.look(reading).find(user).await?.map(|seen| seen.card))
    }

    fn look<'a>(&'a self, reading: &'a ReadContext) -> UserLook<'a> {
        UserLook { cards: self, viewer: None, reading }
    }

    /// The user who has a handle, or had it a short time ago.
    pub async fn owner(
        &self,
        handle: &Handle,
        reading: &ReadContext,
    ) -> Result<Option<UserId>, StoreError> {
        let id = CardId::Handle(HandleHash::of(handle));
        let tables = Tables { handle: Some(handle), ..self.tables() };
        let cards = read_through(&self.valkey, vec![id.clone()], reading, tables);
        Ok(match cards.await?.remove(&id) {
            Some(Card::Handle(owner)) => owner,
            _ => None,
        })
    }

    fn tables(&self) -> Tables<'_> {
        Tables { users: Some(&self.users), ..Tables::default() }
    }
}

impl RelationCards {
    /// The users with these ids, as the viewer sees them. Users without a profile are left out.
    pub async fn users(
        &self,
        viewer: UserId,
        users: &[UserId],
        reading: &ReadContext,
    ) -> Result<HashMap<UserId, SeenUser>, StoreError> {
        self.look(viewer, reading).users(users).await
    }

    /// The user with this id or handle, as the viewer sees them. `None` if there is none.
    pub async fn find(
        &self,
        viewer: UserId,
        user: &UserRef,
        reading: &ReadContext,
    ) -> Result<Option<SeenUser>, StoreError> {
        self.look(viewer, reading).find(user).await
    }

    fn look<'a>(&'a self, viewer: UserId, reading: &'a ReadContext) -> UserLook<'a> {
        UserLook { cards: &self.users, viewer: Some((viewer, &self.graph)), reading }
    }
}

/// A look at users.
#[derive(Clone, Copy)]
struct UserLook<'a> {
    cards: &'a UserCards,
    /// Who looks, if the relations to the users are shown.
    viewer: Option<(UserId, &'a GraphStore)>,
    reading: &'a ReadContext,
}

impl UserLook<'_> {
    /// The users with these ids. Their relations are read at the same time.
    async fn users(self, users: &[UserId]) -> Result<HashMap<UserId, SeenUser>, StoreError> {
        let mut ids: Vec<CardId> = users.iter().map(|user| CardId::User(*user)).collect();
        if let Some((viewer, _)) = self.viewer {
            let others = users.iter().filter(|user| **user != viewer);
            ids.extend(others.map(|user| CardId::Relation(viewer, *user)));
        }
        let tables = Tables { graph: self.viewer.map(|(_, graph)| graph), ..self.cards.tables() };
        let cards = read_through(&self.cards.valkey, ids, self.reading, tables).await?;
        let is_followed = |user| {
            let viewer = self.viewer.map(|(viewer, _)| viewer);
            let relation = viewer.and_then(|viewer| cards.get(&CardId::Relation(viewer, user)));
            matches!(relation, Some(Card::Relation(true)))
        };
        let seen = |(_, card): (&CardId, &Card)| match card {
            Card::User(Some(user)) => {
                Some((user.id, SeenUser { card: user.clone(), is_followed: is_followed(user.id) }))
            }
            _ => None,
        };
        Ok(cards.iter().filter_map(seen).collect())
    }

    async fn user(self, user: UserId) -> Result<Option<SeenUser>, StoreError> {
        Ok(self.users(&[user]).await?.remove(&user))
    }

    async fn find(self, user: &UserRef) -> Result<Option<SeenUser>, StoreError> {
        let (cards, reading) = (self.cards, self.reading);
        let handle = match user {
            UserRef::Id(user) => return self.user(*user).await,
            UserRef::Handle(handle) => handle,
        };
        let id = CardId::Handle(HandleHash::of(handle));
        let owner = cards.owner(handle, reading).await?;
        let Some(user) = owner else { return Ok(None) };
        let found = self.user(user).await?;
        // mutation: card-handle
        if found.as_ref().is_some_and(|found| found.card.handle == *handle) {
            return Ok(found);
        }
        // the handle was given up or taken over since the card was filled
        reading.ask(cards.valkey.cards_changed_within(CARD_MARK_WITHIN, &[id])).await?;
        match cards.users.owner(handle).await? {
            Some(user) => {
                let found = self.user(user).await?;
                Ok(found.filter(|found| found.card.handle == *handle))
            }
            None => Ok(None),
        }
    }
}

impl PostCards {
    /// Reads the settings of the stores. An error names the setting.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            users: UserCards::new(sdk, config)?,
            posts: PostStore::new(sdk, config)?,
            likes: LikeStore::new(sdk, config)?,
        })
    }

    /// The cards over these stores.
    pub fn over(valkey: &Valkey, users: &UserStore, posts: &PostStore, likes: &LikeStore) -> Self {
        let users = UserCards { valkey: valkey.clone(), users: users.clone() };
        Self { users, posts: posts.clone(), likes: likes.clone() }
    }

    /// These posts with their authors, as the viewer sees them. Without a viewer, no post counts as liked.
    pub async fn posts(
        &self,
        viewer: Option<UserId>,
        posts: &[PostId],
        reading: &ReadContext,
    ) -> Result<HashMap<PostId, PostWithAuthor>, StoreError> {
        let mut ids: Vec<CardId> = posts.iter().map(|post| CardId::Post(*post)).collect();
        ids.extend(posts.iter().map(|post| CardId::User(post.author())));
        ids.extend(viewer.map(CardId::Likes));
        let mut cards = read_through(&self.users.valkey, ids, reading, self.tables()).await?;
        let liked = match viewer {
            Some(viewer) => {
                let card = cards.remove(&CardId::Likes(viewer));
                self.liked(viewer, posts, card).await?
            }
            None => HashSet::new(),
        };
        let mut found = HashMap::new();
        for post in posts {
            let state = match cards.remove(&CardId::Post(*post)) {
                Some(Card::Post(state)) => state,
                _ => PostState::Missing,
            };
            let author = match cards.get(&CardId::User(post.author())) {
                Some(Card::User(author)) => author.clone(),
                _ => None,
            };
            let liked = liked.contains(post);
            found.insert(*post, PostWithAuthor { state, author, liked });
        }
        Ok(found)
    }

    /// Those of these posts that the viewer likes. Posts that are older than those of the card are looked up.
    async fn liked(
        &self,
        viewer: UserId,
        posts: &[PostId],
        card: Option<Card>,
    ) -> Result<HashSet<PostId>, StoreError> {
        let newest = match card {
            Some(Card::Likes(newest)) => newest,
            _ => NewestLiked { posts: Vec::new(), is_all: false },
        };
        let has = |post: &&PostId| newest.has(**post) == Some(true);
        let mut liked: HashSet<PostId> = posts.iter().filter(has).copied().collect();
        let older: BTreeSet<PostId> =
            posts.iter().filter(|post| newest.has(**post).is_none()).copied().collect();
        if !older.is_empty() {
            let older: Vec<PostId> = older.into_iter().collect();
            liked.extend(self.likes.liked_among(viewer, &older).await?);
        }
        Ok(liked)
    }

    /// Compares cards of posts, users, relations, likes and boards with DynamoDB. Returns those that differ now; a commit whose card is
    /// not marked as stale yet may be among them. Cards that Valkey does not have are not compared, and cards of handles
    /// never: they may be old.
    pub async fn differing(
        &self,
        (graph, boards): (&GraphStore, &BoardStore),
        ids: &[CardId],
        now: Time,
    ) -> Result<Compared, StoreError> {
        let mut kept = HashMap::new();
        for (ids, read) in self.users.valkey.read_cards(ids, "", now).await {
            for (id, read) in ids.into_iter().zip(read?) {
                let CardRead::Known(text) = read else { continue };
                if let Some(card) = Card::decode(&id, &text).filter(|_| !id.is_handle()) {
                    kept.insert(id, card);
                }
            }
        }
        let ids: Vec<CardId> = kept.keys().cloned().collect();
        let tables = Tables { graph: Some(graph), boards: Some(boards), ..self.tables() };
        let right = tables.fetch(&ids).await?;
        // a tombstone expires, and the post stays deleted
        let is_gone =
            |card: &Card| matches!(card, Card::Post(PostState::Deleted | PostState::Missing));
        let is_same =
            |card: &Card, right: &Card| card == right || (is_gone(card) && is_gone(right));
        kept.retain(|id, card| !right.get(id).is_some_and(|right| is_same(card, right)));
        Ok(Compared { cards: ids.len() as u64, differing: kept })
    }

    fn tables(&self) -> Tables<'_> {
        Tables { posts: Some(&self.posts), likes: Some(&self.likes), ..self.users.tables() }
    }
}

/// The tables that cards are made from.
#[derive(Clone, Copy, Default)]
struct Tables<'a> {
    /// `None` if no card of a user or a handle is read.
    users: Option<&'a UserStore>,
    /// `None` if no card of a post is read.
    posts: Option<&'a PostStore>,
    /// The handle whose card is read. The name of the card has only its hash.
    handle: Option<&'a Handle>,
    /// `None` if no card of a relation is read.
    graph: Option<&'a GraphStore>,
    /// `None` if no card of likes is read.
    likes: Option<&'a LikeStore>,
    /// `None` if no card of a board is read.
    boards: Option<&'a BoardStore>,
}

impl Tables<'_> {
    /// Makes cards from DynamoDB, at the same time.
    async fn fetch(&self, ids: &[CardId]) -> Result<HashMap<CardId, Card>, StoreError> {
        let (mut posts, mut users, mut handles) = (Vec::new(), Vec::new(), Vec::new());
        let (mut pairs, mut viewers, mut boards) = (BTreeSet::new(), Vec::new(), Vec::new());
        for id in ids {
            match id {
                CardId::Post(post) => posts.push(*post),
                CardId::User(user) => users.push(*user),
                CardId::Handle(hash) => handles.push(*hash),
                CardId::Relation(viewer, user) => _ = pairs.insert((*viewer, *user)),
                CardId::Likes(viewer) => viewers.push(*viewer),
                CardId::Board(board) => boards.push(*board),
            }
        }
        let handle = self.handle.filter(|handle| handles.contains(&HandleHash::of(handle)));
        let (mut states, mut profiles, owner, following, liked, boards) = futures::try_join!(
            self.states(&posts),
            self.profiles(&users),
            self.owner(handle),
            self.following(&pairs),
            self.liked(&viewers),
            self.boards(&boards),
        )?;
        let mut state = |post| states.remove(post).unwrap_or(PostState::Missing);
        let posts = posts.iter().map(|post| (CardId::Post(*post), Card::Post(state(post))));
        let mut user = |user| Card::User(profiles.remove(user).map(UserCard::from));
        let users = users.iter().map(|id| (CardId::User(*id), user(id)));
        let handle =
            handle.map(|handle| (CardId::Handle(HandleHash::of(handle)), Card::Handle(owner)));
        let relations = pairs.iter().map(|(viewer, user)| {
            let follows = following.contains(&(*viewer, *user));
            (CardId::Relation(*viewer, *user), Card::Relation(follows))
        });
        let cards = posts.chain(users).chain(handle).chain(relations);
        Ok(cards.chain(liked).chain(boards).collect())
    }

    /// The cards of what these viewers like.
    async fn liked(&self, viewers: &[UserId]) -> Result<Vec<(CardId, Card)>, StoreError> {
        let Some(likes) = self.likes else { return Ok(Vec::new()) };
        let read = viewers.iter().map(|viewer| async move {
            let posts = likes.newest_liked(*viewer, LIKES_CARD_MAX).await?;
            Ok((CardId::Likes(*viewer), Card::Likes(NewestLiked::read(posts))))
        });
        try_join_all(read).await
    }

    /// The cards of these boards.
    async fn boards(&self, ids: &[BoardId]) -> Result<Vec<(CardId, Card)>, StoreError> {
        let Some(boards) = self.boards.filter(|_| !ids.is_empty()) else { return Ok(Vec::new()) };
        let mut found: HashMap<BoardId, StoredBoard> =
            boards.boards(ids).await?.into_iter().map(|board| (board.id, board)).collect();
        let card = |id| (CardId::Board(id), Card::Board(found.remove(&id).map(Box::new)));
        Ok(ids.iter().copied().map(card).collect())
    }

    async fn owner(&self, handle: Option<&Handle>) -> Result<Option<UserId>, StoreError> {
        match (self.users, handle) {
            (Some(users), Some(handle)) => users.owner(handle).await,
            _ => Ok(None),
        }
    }

    async fn following(
        &self,
        pairs: &BTreeSet<(UserId, UserId)>,
    ) -> Result<BTreeSet<(UserId, UserId)>, StoreError> {
        match self.graph {
            Some(graph) if !pairs.is_empty() => {
                graph.following_pairs("reading a viewer's relations", pairs.clone()).await
            }
            _ => Ok(BTreeSet::new()),
        }
    }

    async fn states(&self, ids: &[PostId]) -> Result<HashMap<PostId, PostState>, StoreError> {
        match self.posts {
            Some(posts) if !ids.is_empty() => posts.states(ids).await,
            _ => Ok(HashMap::new()),
        }
    }

    async fn profiles(&self, ids: &[UserId]) -> Result<HashMap<UserId, Profile>, StoreError> {
        match self.users {
            Some(users) if !ids.is_empty() => users.profiles(ids).await,
            _ => Ok(HashMap::new()),
        }
    }
}

/// Cards of boards, from both stores.
#[derive(Clone)]
pub struct BoardCards {
    /// The cards in Valkey.
    pub valkey: Valkey,
    /// The boards in DynamoDB.
    pub boards: BoardStore,
}

impl BoardCards {
    /// The boards with these ids. Missing ones are left out.
    pub async fn boards(
        &self,
        ids: &[BoardId],
        reading: &ReadContext,
    ) -> Result<HashMap<BoardId, StoredBoard>, StoreError> {
        let cards = ids.iter().map(|id| CardId::Board(*id)).collect();
        let tables = Tables { boards: Some(&self.boards), ..Tables::default() };
        let cards = read_through(&self.valkey, cards, reading, tables).await?;
        let board = |card| match card {
            Card::Board(Some(board)) => Some((board.id, *board)),
            _ => None,
        };
        Ok(cards.into_values().filter_map(board).collect())
    }
}

/// What Valkey knows of some cards.
#[derive(Default)]
struct Looked {
    known: HashMap<CardId, Card>,
    /// Cards whose leases this reader has.
    leased: Vec<CardId>,
    /// Cards that other readers are reading.
    busy: Vec<CardId>,
    /// Cards that are read from DynamoDB and not kept.
    unknown: Vec<CardId>,
}

/// Reads cards from Valkey. Those that Valkey does not have are made from the tables, together, and kept. Without Valkey,
/// all are made from the tables.
async fn read_through(
    valkey: &Valkey,
    ids: Vec<CardId>,
    reading: &ReadContext,
    tables: Tables<'_>,
) -> Result<HashMap<CardId, Card>, StoreError> {
    let wanted: BTreeSet<CardId> = ids.into_iter().collect();
    let (mut wanted, mut found): (Vec<CardId>, _) = (wanted.into_iter().collect(), HashMap::new());
    let token = format!("{:016x}", clock::random());
    let mut looks = 0;
    loop {
        let Looked { known, mut leased, mut busy, mut unknown } =
            look(valkey, &wanted, &token, reading).await?;
        if looks == CARD_LOOKS_MAX {
            unknown.append(&mut busy);
        }
        metrics::cards(known.len() as u64, (leased.len() + unknown.len()) as u64);
        found.extend(known);
        if !leased.is_empty() || !unknown.is_empty() {
            let to_fill: BTreeSet<CardId> = leased.iter().cloned().collect();
            leased.append(&mut unknown);
            let fetched = tables.fetch(&leased).await?;
            found.extend(fetched);
            let fills: Vec<Fill> = to_fill.iter().filter_map(|id| fill(id, &found)).collect();
            // also if another server does not answer: these have answered just now
            if !fills.is_empty()
                && let Err(error) = valkey.fill_cards(&fills, &token, reading.time()).await
            {
                tracing::warn!(error = %Chain(&error), "some cards were not filled");
            }
        }
        if busy.is_empty() {
            return Ok(found);
        }
        clock::sleep(Duration::from_millis(5 << looks)).await;
        (wanted, looks) = (busy, looks + 1);
    }
}

/// The fill of a card that was found. Nothing is kept of a relation to a user who has no profile, as far as this reader
/// knows: a caller could fill Valkey with such cards.
fn fill(id: &CardId, found: &HashMap<CardId, Card>) -> Option<Fill> {
    let has_profile = |user| matches!(found.get(&CardId::User(user)), Some(Card::User(Some(_))));
    // mutation: card-of-nobody
    let is_kept = !matches!(id, CardId::Relation(_, user) if !has_profile(*user));
    let text = found.get(id)?.text().filter(|_| is_kept);
    let (text, kept, counts) = match text {
        Some((text, kept, counts)) => (Some(text), kept, counts),
        None => (None, Duration::ZERO, false),
    };
    Some(Fill { id: id.clone(), text, kept, counts })
}

/// Looks for cards in Valkey. A bucket whose server does not answer counts as one without cards.
async fn look(
    valkey: &Valkey,
    ids: &[CardId],
    token: &str,
    reading: &ReadContext,
) -> Result<Looked, StoreError> {
    let now = reading.time();
    let mut looked = Looked::default();
    let Some(buckets) = reading.ask(async { Ok(valkey.read_cards(ids, token, now).await) }).await?
    else {
        looked.unknown = ids.to_vec();
        return Ok(looked);
    };
    for (ids, read) in buckets {
        let read = match read {
            Ok(read) => read,
            // notes that a server does not answer
            Err(error) => {
                reading.ask(async { Err::<(), _>(error) }).await?;
                vec![CardRead::Unknown; ids.len()]
            }
        };
        for (id, read) in ids.into_iter().zip(read) {
            match read {
                CardRead::Known(text) => match Card::decode(&id, &text) {
                    Some(card) => drop(looked.known.insert(id, card)),
                    None => {
                        tracing::error!(card = %id, "a card has an unknown form");
                        looked.unknown.push(id);
                    }
                },
                CardRead::Leased => looked.leased.push(id),
                CardRead::Busy => looked.busy.push(id),
                CardRead::Unknown => looked.unknown.push(id),
            }
        }
    }
    Ok(looked)
}

/// The names of cards, for the log.
pub fn names(ids: &[CardId]) -> String {
    ids.iter().map(CardId::to_string).collect::<Vec<_>>().join(" ")
}

/// Marks cards as stale after a commit, for writers that answer a request. If Valkey does not answer, the change is
/// shown when its event is handled, so this is not an error.
pub async fn changed(valkey: &Valkey, ids: &[CardId]) {
    if let Err(error) = valkey.cards_changed_within(CARD_MARK_WITHIN, ids).await {
        let cards = names(ids);
        tracing::warn!(
            cards,
            error = %Chain(&error),
            "a change is shown later: its event marks the cards as stale"
        );
    }
}

#[cfg(test)]
mod tests {
    use fanfold_core::id::Identity;

    use super::*;

    #[test]
    fn every_card_that_is_kept_is_read_as_it_was() {
        let (post, user) = (PostId::MAX, UserId(7));
        let handle: Handle = "ash".parse().unwrap();
        let card = UserCard {
            id: user,
            handle: handle.clone(),
            name: "Ash \u{1f333} \"".to_owned(),
            posts: 1,
            followers: u64::MAX,
            following: 3,
        };
        let settings = serde_json::json!({
            "orders": ["descending"], "ranks": "dense", "limit": 5, "period": "week",
            "zone": "Europe/Berlin", "kept_days": 3, "open": false, "writers": [user],
            "merge": {"by": "sum", "boards": [{"owner": user, "name": "b", "day": "2030-01-31"}]},
        });
        let board = StoredBoard::new(
            &Identity([7; 32]),
            "a board".parse().unwrap(),
            serde_json::from_value(settings).unwrap(),
            "token".to_owned(),
            Time::from_ms(1),
        );
        let text = "\u{0} a text: with \n everything".to_owned();
        for (id, card) in [
            (CardId::Post(post), Card::Post(PostState::Deleted)),
            (
                CardId::Post(post),
                Card::Post(PostState::Published(Post { id: post, text: text.clone(), likes: 0 })),
            ),
            (
                CardId::Post(post),
                Card::Post(PostState::Published(Post { id: post, text, likes: u64::MAX })),
            ),
            (CardId::Likes(user), Card::Likes(NewestLiked::read(Vec::new()))),
            (CardId::Likes(user), Card::Likes(NewestLiked::read(vec![post, PostId::MIN]))),
            (CardId::Likes(user), Card::Likes(NewestLiked::read(vec![post; LIKES_CARD_MAX]))),
            (CardId::User(user), Card::User(None)),
            (CardId::User(user), Card::User(Some(card))),
            (CardId::Handle(HandleHash::of(&handle)), Card::Handle(Some(user))),
            (CardId::Relation(user, user), Card::Relation(true)),
            (CardId::Relation(user, user), Card::Relation(false)),
            (CardId::Board(board.id), Card::Board(None)),
            (CardId::Board(board.id), Card::Board(Some(Box::new(board)))),
        ] {
            let (text, ..) = card.text().unwrap();
            assert_eq!(Card::decode(&id, &text), Some(card));
            assert_eq!(Card::decode(&id, b"{\"x\":1}"), None);
        }
        assert_eq!(Card::Post(PostState::Missing).text(), None);
    }

    #[test]
    fn what_is_older_than_the_newest_likes_is_not_known() {
        let posts: Vec<PostId> =
            (1..=LIKES_CARD_MAX as u128).rev().map(|n| PostId(n * 10)).collect();
        let all = NewestLiked::read(posts[1..].to_vec());
        let newest = NewestLiked::read(posts);
        for (post, known) in
            [(10, Some(true)), (15, Some(false)), (9, None), (u128::MAX, Some(false))]
        {
            assert_eq!(newest.has(PostId(post)), known, "{post}");
            let known = known.or(Some(false));
            assert_eq!(all.has(PostId(post)), known, "{post}");
        }
    }
}
