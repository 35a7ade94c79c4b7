//! Posts.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::PostId;
use fanfold_core::content::{Attachment, Data};
use fanfold_core::limits::{EXTRAS_BYTES_MAX, TEXT_CHARS_MAX};
use fanfold_core::text::pattern;
use fanfold_kinds::Error;
use fanfold_kinds::marks::MarkKind;
use fanfold_kinds::posts::entities::{Entities, Entity, Meaning};
use fanfold_kinds::posts::extras::{Extras, ExtrasChange};
use fanfold_kinds::present::ShownPost;
use fanfold_web::extract::segment;
use fanfold_web::{Problem, shared_answers};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{RefOr, Schema, Type};
use utoipa::{IntoParams, ToSchema};

use super::people::AuthorView;

/// The post in a path. Refuses another form (400).
#[derive(Debug, Clone, Copy, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PostPath {
    /// A post id.
    #[param(value_type = String, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$", min_length = 26, max_length = 26)]
    pub id: PostId,
}

impl<S: Send + Sync> FromRequestParts<S> for PostPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { id: segment(parts, state).await? })
    }
}

/// A post with its author.
#[derive(Debug, Serialize, ToSchema)]
pub struct PostView {
    /// The id of the post. Ids sort by the time of publication.
    #[schema(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub id: String,
    pub author: AuthorView,
    pub text: String,
    /// The mentions, tags and links in the text, in their order: at most 30 of each.
    pub entities: Vec<EntityView>,
    /// What the author's app sent with the post, as it was sent.
    #[schema(required, value_type = Option<Object>)]
    pub data: Option<Data>,
    #[schema(max_items = 8)]
    pub attachments: Vec<AttachmentView>,
    /// The time of publication in UTC, with milliseconds.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// The number of the version: of the text, the data and the attachments. The first one is 1. It is also the `ETag` of the post, in quotation marks.
    pub version: u64,
    /// The time of the last edit in UTC, with milliseconds. Null: the post was never edited.
    #[schema(required, format = DateTime)]
    pub edited_at: Option<String>,
    /// The id of the answered post, if the post is a reply. The answered post may be gone.
    #[schema(required, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub in_reply_to: Option<String>,
    /// The id of the first post of the thread, if the post is a reply.
    #[schema(required, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub root: Option<String>,
    /// The number of replies to the post itself. It changes within a few seconds of a reply.
    pub reply_count: u64,
    /// The number of likes. It changes within a few seconds of a like.
    pub like_count: u64,
    /// Whether the caller likes the post.
    pub liked: bool,
    /// Whether the caller bookmarked the post.
    pub bookmarked: bool,
}

impl From<ShownPost> for PostView {
    fn from(ShownPost { post, author, marks }: ShownPost) -> Self {
        Self {
            id: post.id.to_string(),
            author: AuthorView::from(&author),
            entities: EntityView::all(&post.entities, &post.text),
            data: post.extras.data().cloned(),
            attachments: AttachmentView::all(&post.extras),
            version: post.version,
            edited_at: post.edited_at.map(|at| at.rfc3339()),
            text: post.text,
            created_at: post.id.time().rfc3339(),
            in_reply_to: post.thread.answered().map(|id| id.to_string()),
            root: post.thread.root().map(|id| id.to_string()),
            reply_count: post.replies,
            like_count: post.likes,
            liked: marks.has(MarkKind::Like),
            bookmarked: marks.has(MarkKind::Bookmark),
        }
    }
}

/// A part of a text that means something. `start` and `end` count Unicode code points, as Python does: in JavaScript, it is
/// `Array.from(text).slice(start, end).join("")`.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntityView {
    #[serde(rename = "type")]
    pub kind: EntityType,
    /// The first code point, with the sign of a mention or tag.
    pub start: usize,
    /// The code point after the last one.
    pub end: usize,
    /// The id of the user whom a mention means. It stays when the user changes the handle.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{16}$", nullable = false)]
    pub user: Option<String>,
    /// The form in which a tag is compared, without its sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tag: Option<String>,
    /// The URL of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub url: Option<String>,
}

/// What an entity is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntityType {
    Mention,
    Tag,
    Link,
}

/// A picture, a film or another file. Fanfold keeps its URL alone.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Attachment)]
pub struct AttachmentView {
    #[schema(pattern = "^[Hh][Tt][Tt][Pp][Ss]://[^/\\\\\\s]", max_length = 2048)]
    pub url: String,
    /// A media type without parameters.
    #[schema(
        pattern = "^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$",
        max_length = 255,
        example = "image/png"
    )]
    pub media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = alt_schema)]
    pub alt: Option<String>,
    /// In pixels. Given with the height.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100_000)]
    pub width: Option<u32>,
    /// In pixels. Given with the width.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100_000)]
    pub height: Option<u32>,
    /// A blurred form of the picture (blurha.sh).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9A-Za-z#$%*+,.:;=?@\\[\\]^_{|}~-]{6,166}$", max_length = 166)]
    pub blurhash: Option<String>,
}

fn alt_schema() -> RefOr<Schema> {
    let description = "The description for those who do not see it: at most 1,000 characters. A character of more than 12 code points is refused.";
    let mut schema = shared_answers::text(description, pattern::alt(), EXTRAS_BYTES_MAX);
    if let RefOr::T(Schema::Object(text)) = &mut schema {
        text.schema_type = SchemaType::from_iter([Type::String, Type::Null]);
    }
    schema
}

impl AttachmentView {
    /// The attachments of a post.
    pub fn all(extras: &Extras) -> Vec<Self> {
        let view = |attachment: &Attachment| {
            let Attachment { url, media_type, alt, width, height, blurhash } = attachment.clone();
            Self { url, media_type, alt, width, height, blurhash }
        };
        extras.attachments().iter().map(view).collect()
    }

    /// These attachments, as they were sent.
    pub fn sent(all: Vec<Self>) -> Vec<Attachment> {
        let attachment = |view| {
            let Self { url, media_type, alt, width, height, blurhash } = view;
            Attachment { url, media_type, alt, width, height, blurhash }
        };
        all.into_iter().map(attachment).collect()
    }
}

/// What a body changes beside the text.
pub fn extras_change(
    data: Option<Option<Box<RawValue>>>,
    attachments: Option<Vec<AttachmentView>>,
) -> Result<ExtrasChange, Error> {
    let attachments = attachments.map(AttachmentView::sent);
    Ok(ExtrasChange::new(Data::change(data)?, attachments)?)
}

/// The `ETag` of a post: the number of its version.
pub fn etag(shown: &ShownPost) -> String {
    format!("\"{}\"", shown.post.version)
}

impl EntityView {
    /// The entities of a text.
    pub fn all(entities: &Entities, text: &str) -> Vec<Self> {
        entities.0.iter().map(|entity| Self::of(entity, text)).collect()
    }

    fn of(Entity { start, end, means }: &Entity, text: &str) -> Self {
        let (start, end) = (*start, *end);
        let bare = |kind| Self { kind, start, end, user: None, tag: None, url: None };
        match means {
            Meaning::Mention(user) => {
                Self { user: Some(user.to_string()), ..bare(EntityType::Mention) }
            }
            Meaning::Tag(tag) => Self { tag: Some(tag.clone()), ..bare(EntityType::Tag) },
            Meaning::Link => {
                let url = text.chars().skip(start).take(end.saturating_sub(start)).collect();
                Self { url: Some(url), ..bare(EntityType::Link) }
            }
        }
    }
}

/// The schema of the text of a post.
pub fn text_schema() -> RefOr<Schema> {
    let description = "1 to 500 characters as a person counts them, without the white space around them, and at most \
        4 KiB. A character of more than 12 code points is refused. The pattern counts code points, each with up to two \
        accents, so it is stricter otherwise.";
    shared_answers::text(description, pattern::post_text(), TEXT_CHARS_MAX)
}
