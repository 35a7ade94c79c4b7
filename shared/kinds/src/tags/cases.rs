//! Reading tags: how one is used, which ones begin with a text, and the posts of followed tags, merged. Following tags.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{FOLLOWED_TAGS_MAX, TAG_NAMES_MAX, TAG_POSTS_COUNTED_MAX};
use fanfold_core::text::entities::folded;
use fanfold_core::{FeedId, List, Merge, PostId, Slice, Tag, Time, UserId};
use fanfold_engines::feed::{SliceError, Source};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::table::transact::CommitResult;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::pause;
use futures::future::try_join_all;

use super::followed::{FollowWrite, FollowedTags};
use super::names::{NAME_BYTES_MAX, NamedTag, TagUse};
use crate::feeds::{charge, newest};
use crate::limit::{all_within_limit, within_limit};
use crate::people::must_belong_to;
use crate::present::Viewer;
use crate::{App, Error};

/// The time whose posts are counted.
const COUNTED: Duration = Duration::from_secs(7 * 24 * 3600);
/// Times that names of tags are read until enough of them have posts.
const NAME_ROUNDS_MAX: usize = 10;
/// What reading how a tag is used is charged as.
const USE_QUERIES: u64 = 20;
/// Tries of a change of the followed tags. A client may follow many at once, and each change is of the same item.
const FOLLOW_TRIES_MAX: u32 = 24;
/// Rounds of a merge of tag feeds. After them, the caller continues where the merge stopped.
const MERGE_ROUNDS_MAX: usize = 200;

/// How a tag is used, and whether the viewer follows it. Fails with [`Error::TooManyRequests`] if the viewer has read too many tags.
pub async fn tag(
    app: &App,
    viewer: &Viewer,
    tag: &Tag,
    now: Time,
) -> Result<(TagUse, bool), Error> {
    let followed = async { Ok(app.tags.followed(viewer.user).await?) };
    let (found, followed) = futures::try_join!(use_of(app, viewer.user, tag, now), followed)?;
    Ok((found, followed.tags.iter().any(|other| other.tag == *tag)))
}

/// How a tag is used, from about [`TAG_POSTS_COUNTED_MAX`] of its newest posts.
async fn use_of(app: &App, user: UserId, tag: &Tag, now: Time) -> Result<TagUse, Error> {
    if let Some(known) = app.tag_uses.get(tag, now) {
        return Ok(known);
    }
    let since = PostId::last_of(now - COUNTED);
    let (limit, rows) =
        (app.limits.of(LimitKind::Pull), app.tags.sample(tag.hash(), TAG_POSTS_COUNTED_MAX));
    let rows = all_within_limit(&app.valkey, limit, user, USE_QUERIES, now, rows).await?;
    let counted: Vec<(PostId, String)> =
        rows.into_iter().rev().take(TAG_POSTS_COUNTED_MAX).collect();
    let week = counted.iter().filter(|(post, _)| *post > since);
    let authors: BTreeSet<UserId> = week.clone().map(|(post, _)| post.author()).collect();
    let (posts, authors) = (week.count() as u64, authors.len() as u64);
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, name) in &counted {
        *names.entry(name).or_default() += 1;
    }
    let most = names.into_iter().max_by_key(|(_, count)| *count);
    let name = most.map_or_else(|| tag.to_string(), |(name, _)| name.to_owned());
    let found = TagUse { named: NamedTag { tag: tag.clone(), name }, posts, authors };
    app.tag_uses.note(tag.clone(), found.clone(), now);
    Ok(found)
}

/// Tags with posts that begin with a text, in their order: at most [`TAG_NAMES_MAX`]. Its queries are charged to the user, who gets
/// [`Error::TooManyRequests`] for too many. An environment of a function keeps what it found for [`USE_KEPT`].
pub async fn beginning_with(
    app: &App,
    user: UserId,
    text: &str,
    now: Time,
) -> Result<Vec<NamedTag>, Error> {
    let text = folded(Tag::without_sign(text));
    if text.is_empty() || text.len() > NAME_BYTES_MAX {
        return Ok(Vec::new());
    }
    if let Some(known) = app.completions.get(&text, now) {
        return Ok(known);
    }
    let (limit, find) = (app.limits.of(LimitKind::Pull), completions(app, &text, now));
    let expected = 2 * TAG_NAMES_MAX as u64;
    let found = all_within_limit(&app.valkey, limit, user, expected, now, find);
    let (found, queries) = found.await?;
    let reading = ReadContext::of(user, now);
    // mutation: names-charged
    charge(app, &reading, queries.saturating_sub(expected)).await?;
    app.completions.note(text, found.clone(), now);
    Ok(found)
}

/// Tags with posts that begin with a text, and the number of queries for them.
async fn completions(app: &App, text: &str, now: Time) -> Result<(Vec<NamedTag>, u64), StoreError> {
    let (mut found, mut after, mut queries) = (Vec::new(), None, 0);
    for _ in 0..NAME_ROUNDS_MAX {
        let count = 2 * TAG_NAMES_MAX;
        let names = app.tags.names_beginning_with(text, after.as_deref(), count, now);
        let (names, next) = names.await?;
        // one for the names, and for each name one that finds a post, or two
        queries += 1 + 2 * names.len() as u64;
        // at most 20 at the same time
        let looks = names.into_iter().map(async |named| {
            // mutation: name-without-posts
            Ok(app.tags.has_posts(named.tag.hash()).await?.then_some(named))
        });
        let with_posts: Vec<NamedTag> = try_join_all(looks).await?.into_iter().flatten().collect();
        queries -= with_posts.len() as u64;
        found.extend(with_posts);
        after = next;
        if after.is_none() || found.len() >= TAG_NAMES_MAX {
            break;
        }
    }
    found.truncate(TAG_NAMES_MAX);
    Ok((found, queries))
}

/// Follows a tag, or unfollows it. A repeated call succeeds.
///
/// Fails with [`Error::FollowedTagsLimit`], and with [`Error::ProfileMissing`], [`Error::IdentityClash`] or
/// [`Error::TooManyRequests`] because of the caller.
pub async fn follow(
    app: &App,
    caller: &Identity,
    named: &NamedTag,
    is_followed: bool,
    now: Time,
) -> Result<(), Error> {
    let user = caller.user();
    let reads = async { futures::try_join!(app.users.profile(user), app.tags.followed(user)) };
    let reads = within_limit(&app.valkey, app.limits.of(LimitKind::Mark), user, now, reads);
    let (profile, mut known) = reads.await?;
    must_belong_to(&profile.ok_or(Error::ProfileMissing)?, caller)?;
    for tried in 0..FOLLOW_TRIES_MAX {
        let FollowedTags { revision, mut tags } = known;
        if tags.iter().any(|other| other.tag == named.tag) == is_followed {
            return Ok(());
        }
        tags.retain(|other| other.tag != named.tag);
        if is_followed {
            // mutation: followed-tags-limit
            if tags.len() >= FOLLOWED_TAGS_MAX {
                return Err(Error::FollowedTagsLimit { max: FOLLOWED_TAGS_MAX });
            }
            tags.push(named.clone());
        }
        match app.tags.put_followed(&app.users, caller, revision, tags).await? {
            CommitResult::Done => return Ok(()),
            outcome if outcome.refused(FollowWrite::Profile) => return Err(Error::ProfileMissing),
            _ => pause(tried).await,
        }
        known = app.tags.followed(user).await?;
    }
    Err(StoreError::GaveUp { doing: "changing followed tags", tries: FOLLOW_TRIES_MAX }.into())
}

/// The posts of the tags that a user follows.
#[derive(Debug, Clone, Copy)]
pub struct TagsTimeline(pub UserId);

impl List for TagsTimeline {
    type Place = (PostId, PostId);

    fn code(&self) -> u8 {
        b'T'
    }

    fn owner(&self) -> u64 {
        self.0.0
    }
}

/// The next posts of the tags that a user follows, older than `before`. A post with several of them is there once.
pub(crate) async fn followed_slice(
    app: &App,
    tags: &[NamedTag],
    before: PostId,
    count: usize,
    reading: &ReadContext,
) -> Result<(Slice, Source), SliceError> {
    let tags = tags.get(..FOLLOWED_TAGS_MAX).unwrap_or(tags);
    let (mut merge, mut source) = (Merge::new(tags.len(), before, count), Source::Cache);
    for _ in 0..MERGE_ROUNDS_MAX {
        let wanted = merge.wanted();
        if wanted.is_empty() {
            break;
        }
        let reads = wanted.iter().filter_map(|wanted| Some((wanted, tags.get(wanted.part)?)));
        let reads = reads.map(async |(wanted, named)| {
            let feed = FeedId::of_tag(&named.tag);
            let slice = kept_slice(app, feed, wanted.before, wanted.count, reading);
            Ok::<_, SliceError>((wanted.part, slice.await?))
        });
        for (part, (slice, from)) in try_join_all(reads).await? {
            if from != Source::Cache {
                source = from;
            }
            merge.add(part, slice);
        }
        merge.advance();
    }
    Ok((merge.finish(), source))
}

/// The next posts of a tag. An environment of a function keeps the newest ones for a second, as it does for the pages of a tag: very
/// many users may follow one.
async fn kept_slice(
    app: &App,
    feed: FeedId,
    before: PostId,
    count: usize,
    reading: &ReadContext,
) -> Result<(Slice, Source), SliceError> {
    let is_first = before == PostId::MAX && reading.uses_valkey();
    if is_first
        && let Some((kept, slice)) = app.first_slices.get(&feed, reading.now)
        && (kept >= count || slice.is_end())
    {
        // mutation: slice-kept
        return Ok((slice, Source::Cache));
    }
    let read = match is_first {
        true => newest(app, feed, count, count, reading).await?,
        false => app.feeds().slice(feed, before, count, reading).await?,
    };
    if is_first {
        app.first_slices.note(feed, (count, read.0.clone()), reading.now);
    }
    Ok(read)
}
