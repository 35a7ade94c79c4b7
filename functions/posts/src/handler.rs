//! Decides what becomes of a post.

use std::error::Error;

use axum::http::HeaderMap;
use fanfold_core::id::Identity;
use fanfold_core::limits::{IDEMPOTENCY_KEY_CHARS_MAX, TRIES_MAX};
use fanfold_core::message::PostPublished;
use fanfold_core::{PostId, UserId, text};
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::ReceiptStore;
use fanfold_store::dynamo::posts::{Created, Deleted, Post, PostState, PostStore, RequestKey};
use fanfold_store::dynamo::receipts::Receipt;
use fanfold_store::dynamo::users::{Profile, UserStore};
use fanfold_store::http::{Kind, Problem};
use fanfold_store::log::Chain;
use fanfold_store::sqs::Queue;
use fanfold_store::valkey::{Feed, Valkey};
use fanfold_store::{Config, StoreError, clock};

#[derive(Clone)]
pub struct App {
    pub posts: PostStore,
    pub users: UserStore,
    pub valkey: Valkey,
    pub receipts: ReceiptStore,
    pub events: Queue<PostPublished>,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self {
            posts: PostStore::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            valkey: Valkey::new(sdk, &config.feeds()?)?,
            receipts: ReceiptStore::new(sdk, config)?,
            events: Queue::new(sdk, config, "POST_EVENTS_QUEUE_URL")?,
        })
    }
}

/// Publishes a post. It is answered for only when it is stored and its event is on the queue.
///
/// The event goes first: if this function dies between the two, an event without a post does no
/// harm, while a post without an event would reach nobody.
pub async fn publish(
    app: &App,
    author: &Identity,
    written: &str,
    key: Option<RequestKey>,
    now_ms: u64,
) -> Result<(Post, Profile), Problem> {
    let written = text::post_text(written)?;
    let profile = app.users.profile(author.user()).await?;
    let profile = profile.ok_or_else(Problem::profile_missing)?;
    must_be_of(&profile, author)?;
    if let Some(key) = &key
        && let Some(post) = made_earlier(app, key, now_ms).await?
    {
        return Ok((post, profile));
    }
    for _ in 0..TRIES_MAX {
        let id = PostId::new(now_ms, clock::random() as u16, author.user());
        let post = Post { id, text: written.clone().into_owned() };
        app.events.send(&PostPublished::new(id)).await?;
        let created = app.posts.create(app.users.table(), author, &post, key.as_ref(), now_ms);
        match created.await? {
            Created::Created => {
                tracing::info!(post = %id, "published");
                show_the_author(app, id).await;
                return Ok((post, profile));
            }
            Created::IdTaken => {}
            Created::NoProfile => return Err(Problem::profile_missing()),
            Created::KeyUsed => {
                if let Some(key) = &key
                    && let Some(post) = made_earlier(app, key, now_ms).await?
                {
                    return Ok((post, profile));
                }
            }
        }
    }
    let doing = "finding a free post id";
    Err(StoreError::GaveUp { doing, tries: TRIES_MAX }.into())
}

/// The post that this key made. Its event is sent again: the first answer may have been lost
/// together with it.
async fn made_earlier(app: &App, key: &RequestKey, now_ms: u64) -> Result<Option<Post>, Problem> {
    let Some(earlier) = app.posts.key_use(key, now_ms).await? else { return Ok(None) };
    if !earlier.same_request {
        return Err(Problem::new(Kind::KeyReused, "the first request had another body"));
    }
    match app.posts.state(earlier.post).await? {
        PostState::Published(post) => {
            app.events.send(&PostPublished::new(post.id)).await?;
            tracing::info!(post = %post.id, again = true, "published");
            Ok(Some(post))
        }
        PostState::Deleted | PostState::Missing => {
            Err(Problem::new(Kind::PostDeleted, format!("it was {}", earlier.post)))
        }
    }
}

/// The writer sees the post with the very next request. Dispatch does the same again later, so a
/// failure is no more than a delay.
async fn show_the_author(app: &App, id: PostId) {
    if let Err(error) = app.valkey.push_own(id).await {
        tracing::warn!(post = %id, error = %Chain(&error), "the author sees the post later");
    }
}

pub async fn read(app: &App, id: PostId) -> Result<(Post, Profile), Problem> {
    let PostState::Published(post) = app.posts.state(id).await? else {
        return Err(Problem::no_such_post(id));
    };
    let profile = app.users.profile(id.author()).await?;
    Ok((post, profile.ok_or_else(|| Problem::no_such_post(id))?))
}

/// Two subjects may have the same id, and the profile is of one of them.
fn must_be_of(profile: &Profile, identity: &Identity) -> Result<(), Problem> {
    match profile.is_of(identity) {
        true => Ok(()),
        false => Err(Problem::new(Kind::IdentityClash, "this id's profile is somebody else's")),
    }
}

/// How far a post's fan-out got, for its author alone.
pub async fn delivery(app: &App, caller: &Identity, id: PostId) -> Result<Receipt, Problem> {
    if id.author() != caller.user() {
        return Err(Problem::new(Kind::NotYours, "only its author asks where a post is"));
    }
    let (_, author) = read(app, id).await?;
    must_be_of(&author, caller)?;
    Ok(app.receipts.receipt(id).await?)
}

/// Deletes a post, for its author alone. Again is fine.
pub async fn delete(app: &App, caller: &Identity, id: PostId, now_ms: u64) -> Result<(), Problem> {
    if id.author() != caller.user() {
        return Err(Problem::new(Kind::NotYours, "only its author deletes a post"));
    }
    // whether it can be counted at all: a newer function may have written the profile
    app.users.profile(caller.user()).await?;
    match app.posts.delete(app.users.table(), caller, id, now_ms).await? {
        Deleted::Missing => return Err(Problem::no_such_post(id)),
        Deleted::Deleted | Deleted::Already => {}
    }
    for feed in Feed::own(id.author()) {
        if let Err(error) = app.valkey.remove(feed, &[id]).await {
            tracing::warn!(post = %id, error = %Chain(&error), "an entry goes when it is read");
        }
    }
    Ok(())
}

/// The caller's `Idempotency-Key`, if one was sent.
pub fn request_key(
    headers: &HeaderMap,
    user: UserId,
    request: &str,
) -> Result<Option<RequestKey>, Problem> {
    let mut sent = headers.get_all("idempotency-key").iter();
    let Some(name) = sent.next() else { return Ok(None) };
    let name = name.to_str().ok().filter(|name| {
        (1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&name.len()) && sent.next().is_none()
    });
    let name = name.ok_or_else(|| {
        let detail =
            format!("Idempotency-Key is 1 to {IDEMPOTENCY_KEY_CHARS_MAX} visible characters, once");
        Problem::new(Kind::InvalidParameter, detail)
    })?;
    Ok(Some(RequestKey::new(user, name, request)))
}
