//! What each kind of problem means, and what a client does about it.

use fanfold_web::ProblemKind;

/// The texts of a page about a kind of problem.
pub struct Advice {
    pub meaning: &'static str,
    pub remedy: &'static str,
    /// The `detail` of an example.
    pub example: &'static str,
}

macro_rules! advice {
    ($($kind:ident: $meaning:literal $remedy:literal $example:literal;)*) => {
        /// The texts for a kind.
        pub fn advice(kind: ProblemKind) -> Advice {
            let (meaning, remedy, example) =
                match kind { $(ProblemKind::$kind => ($meaning, $remedy, $example)),* };
            Advice { meaning, remedy, example }
        }
    };
}

advice! {
    InvalidBody:
        "The body is not JSON of the expected shape: it is malformed, a field is missing, unknown or repeated, or a value has another type."
        "Compare the body with the API reference. The detail names the first place that is wrong."
        "unknown field `txt`, expected `text` or `publish_at` at line 1 column 6";
    InvalidParameter:
        "A query parameter or the header Idempotency-Key is unknown, or its value is not allowed."
        "Correct the parameter that the detail names, or leave it out."
        "limit must be a whole number from 1 to 100";
    InvalidCursor:
        "The API did not issue this cursor, or issued it for another list or another user."
        "Use only next_cursor and newest_cursor of an earlier answer for the same list. Begin again without a cursor."
        "this cursor belongs to another list";
    InvalidId:
        "An id or a name in the path has the wrong form."
        "A user is 16 hexadecimal digits or @ and a handle; a post is 26 characters. Take ids from answers of the API unchanged."
        "ash is not a user: use an id, or @ and a handle";
    Unauthenticated:
        "The request has no valid token, so its caller is not known."
        "Send the header Authorization: Bearer with an access token. If it has expired, get a new one."
        "send a token in the header `Authorization: Bearer …`";
    NotYours:
        "What the request would change or show belongs to another user."
        "Send the request with the token of the author or owner. The owner of a leaderboard can add you to its writers."
        "only the author can delete a post";
    NoSuchRoute:
        "No route of the API has this path."
        "Check the spelling against the API reference. Paths have no slash at the end."
        "no route has this path; GET /openapi.json lists the routes";
    NoSuchUser:
        "No profile has this id or handle. It was never made, or the user was erased."
        "Ask for the user by id, which never changes: a user can change the handle. Your own profile is made with PUT /v1/me."
        "@ash has no profile";
    NoSuchPost:
        "The post does not exist, or its author deleted it."
        "Remove the post from what you show. A deleted post does not come back."
        "01M7YZ0V042DVTFTPP3HS0JN1E does not exist, or was deleted";
    NoSuchScheduled:
        "The scheduled post does not exist: it was cancelled, belongs to another user, or was published more than 7 days ago."
        "Read GET /v1/scheduled for those that wait. A published one is a post with an id of its own."
        "the scheduled post 01KBXM1E0G2DVTFTPP3HS0JN1E does not exist, or was cancelled";
    NoSuchTimer:
        "The caller has no timer of this name. It was deleted, or it fired once and ended."
        "Read GET /v1/timers for those that wait, or make the timer with PUT."
        "the caller has no timer renew-7";
    NoSuchBoard:
        "The owner has no leaderboard of this name, or the period of the given day is not kept any more or has not begun."
        "Check the owner and the name. Leave out day for the present period."
        "the user a7ead61c7209542e has no board race";
    NoSuchMember:
        "The member has no scores on this leaderboard, or fell out because of its limit."
        "Set the scores of the member first, or show that the member has no rank."
        "birch is not on the board";
    MethodNotAllowed:
        "The path exists, but not with this method."
        "Use one of the methods in the header Allow."
        "PATCH is not allowed here; use GET, PUT";
    HandleTaken:
        "Another user has this handle."
        "Choose another handle. It becomes free if its user changes it or is erased."
        "@ash belongs to another user; choose another handle";
    IdentityClash:
        "Another account has the same user id. Ids are 64 bits of a hash, so this is very rare."
        "Sign in with another account. The present account cannot have a profile here."
        "another user has the same id; sign in with another account";
    ProfileMissing:
        "The caller has signed in but has no profile yet, and only users with a profile can do this."
        "Send PUT /v1/me with a handle and a name, and repeat the request."
        "the caller has no profile; create it with PUT /v1/me";
    BoardFixed:
        "The request would change a setting of a leaderboard that is fixed, or a score of a merged leaderboard."
        "Delete the leaderboard and make it again, or change the leaderboards that it is merged from."
        "the orders, the period, the zone and the merge of a board cannot change; delete the board first";
    AlreadyPublished:
        "The time of the scheduled post came before the request, so it is a post now."
        "Read or delete the post that the detail names."
        "the scheduled post is published already, as 01KDAJ2CW02DVTFTPP3HS0JN1E; delete or read that post";
    ScheduledFailed:
        "The scheduled post is a reply, and the post that it answers was gone when its time came. It is not published as anything else."
        "Read its text, and publish or schedule it again if it still makes sense."
        "the scheduled post 01KBXM1E0G2DVTFTPP3HS0JN1E was not published: the post that it answers was gone at its time";
    OtherVersion:
        "The request named a version of the post in If-Match, and the post was edited since."
        "Read the post, decide whether the edit still makes sense, and send it with the new ETag."
        "the post has version 3 now; read it again, and send its ETag";
    VersionsLimit:
        "A post keeps its earlier versions, and this one has as many as a post can have."
        "Publish another post."
        "a post can have at most 100 versions; publish another post";
    PostDeleted:
        "An earlier request with the same Idempotency-Key made a post or a scheduled post, which was deleted or cancelled since."
        "Use a new key to publish again."
        "the post that this Idempotency-Key made, 01M7YZ0V042DVTFTPP3HS0JN1E, was deleted; use a new key";
    BodyTooLarge:
        "The body has more bytes than the route takes: 64 KiB, or 256 KiB for changes of several members of a leaderboard."
        "Send less in one request. Divide changes of many members into several requests."
        "the body is larger than 65536 bytes";
    UnsupportedMediaType:
        "The body is not announced as JSON."
        "Send the header Content-Type: application/json."
        "Content-Type must be application/json";
    InvalidText:
        "A text, a handle or a name is empty, too long, or has characters that are invisible or change the text around it."
        "A post has 1 to 500 characters as a person counts them and at most 4 KiB; a name has up to 50; a handle has 1 to 30 of a to z, 0 to 9 and _."
        "text has 512 characters; at most 500 are allowed";
    InvalidContent:
        "The data is no JSON object or too large, or an attachment or a link has a value that is not allowed."
        "Correct what the detail names. URLs must begin with https://, and data and attachments have at most 8 KiB together."
        "media_type must be a type and a subtype, such as image/png";
    FollowSelf:
        "The user to follow is the caller."
        "Do not offer this in your app: the home feed has the caller's own posts in any case."
        "users cannot follow themselves";
    FollowingLimit:
        "The caller follows as many users as one user may."
        "Unfollow another user first. The detail gives the limit."
        "a user can follow at most 5000 users; unfollow another user first";
    TagsLimit:
        "The versions of the post have too many different tags."
        "Publish another post. The detail gives the limit."
        "the versions of a post can have at most 60 different tags; publish another post";
    NoPublicFeed:
        "The operator has not turned the public feed on."
        "Do not offer the feed in your app, or ask the operator to set PublicDays."
        "the operator has not turned the public feed on";
    FollowedTagsLimit:
        "The caller follows as many tags as one user may."
        "Unfollow another tag first. The detail gives the limit."
        "a user can follow at most 50 tags; unfollow another tag first";
    InvalidTime:
        "A time is too near or too far away: publish_at is at least a minute and at most 366 days ahead, as is each time of a timer at most."
        "Choose another time. Times are RFC 3339 with a time zone. Check that the clock of the device is right."
        "publish_at must be at least a minute and at most 366 days ahead";
    InvalidPayload:
        "The payload of a timer has more than 4 KiB as JSON without white space."
        "Store the data elsewhere, and send its id as the payload."
        "payload has 5120 bytes of JSON; at most 4096 are allowed";
    ScheduledLimit:
        "As many posts of the caller wait for their time as one user may schedule."
        "Cancel a scheduled post, or wait until one is published."
        "a user can have at most 300 scheduled posts; cancel another one, or wait until it is published";
    TimersLimit:
        "The caller has as many timers as one user may have."
        "Delete timers that are not needed any more."
        "a user can have at most 1000 timers; delete another timer first";
    BoardsLimit:
        "The caller has as many leaderboards as one user may have."
        "Delete a leaderboard. For a new contest each week, use one leaderboard with the period week."
        "a user can have at most 100 boards; delete another board first";
    InvalidBoard:
        "A setting of a leaderboard is not allowed."
        "Correct the setting that the detail names. The API reference lists the values of each one."
        "a merged board has no period";
    InvalidScores:
        "The request does not name 1 to 100 different members, or a member has another number of scores than the leaderboard."
        "Send one score for each entry of orders, as strings of digits, and exactly one change for each member."
        "name 1 to 100 different members";
    ScoreOverflow:
        "An addition would make a score greater or smaller than a 64-bit integer. Nothing was changed."
        "Add less, or set the score. Scores are from -9223372036854775808 to 9223372036854775807."
        "the sum of the scores of birch would not be a 64-bit integer; nothing was changed";
    KeyReused:
        "The Idempotency-Key was used for another request within the last 24 hours."
        "Use a new key for each post, and the same key only to repeat a request that got no answer."
        "the first request with this Idempotency-Key had another body; use a new key";
    TooManyRequests:
        "The caller writes, or reads with source=pull, more often than one user may. Nothing was changed."
        "Wait for the seconds in the header Retry-After, then repeat the request."
        "at most 300 posts published, scheduled, changed or deleted per minute are allowed; try again in 2 s";
    Damaged:
        "A stored item that the request needs cannot be read. A repetition does not help."
        "Report the problem to the operator, with the header x-request-id of the answer."
        "a stored item cannot be read";
    ContentRefused:
        "DynamoDB or SQS refuses the content or the size of what the request would write. A repetition does not help."
        "Report the problem to the operator, with the header x-request-id of the answer."
        "the store refuses the content or the size of this request; nothing was lost, but a retry does not help";
    Unavailable:
        "A store did not answer in time, or a leaderboard or a ranking is being prepared. Nothing was lost."
        "Repeat the request after the seconds in the header Retry-After. Repeat a publication with the same Idempotency-Key."
        "a store did not answer in time; nothing was lost, try again";
}
