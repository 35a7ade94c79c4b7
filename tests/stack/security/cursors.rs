//! Cursors that the API did not give out, or gave out for another list or user.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use fanfold_core::Partition;
use fanfold_core::{FeedId, List, PostId, UserId};
use fanfold_kinds::follows::{FollowersOf, FollowingOf};
use sha2::{Digest as _, Sha256};

use crate::harness::client::Client;

const REFUSED: (u16, &str) = (404, "/problems/invalid-cursor");
/// The cursor does not have the form of the cursors of the list.
const MALFORMED: (u16, &str) = (400, "/problems/invalid-parameter");

fn id(user: &Client) -> UserId {
    user.id.parse().expect("an id")
}

#[tokio::test]
async fn a_cursor_with_any_byte_changed_is_refused() {
    let user = Client::new().await;
    for n in 0..2 {
        user.publish(&format!("post {n}")).await;
    }
    let cursor = user.get("/v1/timeline?limit=1").await.text("/next_cursor");
    assert_eq!(user.get(&format!("/v1/timeline?cursor={cursor}")).await.status, 200);
    let bytes = URL_SAFE_NO_PAD.decode(&cursor).expect("base64");
    let mut tampered = Vec::new();
    for at in 0..bytes.len() {
        for flip in [1, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            tampered.push(URL_SAFE_NO_PAD.encode(changed));
        }
    }
    for end in [0, 1, 3, 10, bytes.len() - 1] {
        tampered.push(URL_SAFE_NO_PAD.encode(&bytes[..end]));
    }
    tampered.push(URL_SAFE_NO_PAD.encode([&bytes[..], &[0]].concat()));
    // other spellings of the same bytes, and texts that are no base64
    tampered.extend([format!("{cursor}="), format!("{cursor}%00"), format!("%00{cursor}")]);
    tampered.extend([format!("{cursor}%0a"), format!("+{cursor}"), STANDARD.encode(&bytes)]);
    tampered.extend(["A".repeat(200), "A".repeat(201), "A".repeat(6_000), "%ff%fe".to_owned()]);
    tampered.retain(|text| *text != cursor);
    for list in ["/v1/timeline?cursor=", "/v1/timeline?newer_than="] {
        for cursor in &tampered {
            let answer = user.get(&format!("{list}{cursor}")).await;
            let refused = [REFUSED, MALFORMED];
            assert!(refused.contains(&answer.problem()), "{cursor}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_cursor_of_another_list_or_user_or_version_is_refused() {
    let (user, other) = (Client::new().await, Client::new().await);
    let (span, place) = ((PostId::MAX, PostId::MIN), (Partition(0), UserId(0)));
    let feeds = [FeedId::home, FeedId::author];
    let paths = [
        "/v1/timeline".to_owned(),
        format!("/v1/users/{}/posts", user.id),
        format!("/v1/users/{}/followers", user.id),
        format!("/v1/users/{}/following", user.id),
    ];
    for (at, path) in paths.iter().enumerate() {
        for owner in [id(&user), id(&other)] {
            let lists = [FollowersOf(owner).cursor(&place), FollowingOf(owner).cursor(&place)];
            let cursors = feeds.iter().map(|of| of(owner).cursor(&span)).chain(lists);
            for (kind, cursor) in cursors.enumerate() {
                let answer = user.get(&format!("{path}?cursor={cursor}")).await;
                if kind == at && owner == id(&user) {
                    assert_eq!(answer.status, 200, "the cursor of this list: {answer:?}");
                } else {
                    let same_form = (kind < feeds.len()) == (at < feeds.len());
                    let refused = if same_form { REFUSED } else { MALFORMED };
                    assert_eq!(answer.problem(), refused, "{path} {kind} {owner}");
                }
            }
        }
        // the checksum of each is right: the content is refused
        for version in [0, 2, 255] {
            let cursor = forged(|bytes| bytes[0] = version, id(&user));
            let refused = if at < feeds.len() { REFUSED } else { MALFORMED };
            assert_eq!(user.get(&format!("{path}?cursor={cursor}")).await.problem(), refused);
        }
    }
    for short in 2..42 {
        let cursor = forged(|bytes| bytes.truncate(short), id(&user));
        assert_eq!(user.get(&format!("/v1/timeline?cursor={cursor}")).await.problem(), MALFORMED);
    }
}

/// A changed cursor of a user's home feed, with a right checksum.
fn forged(change: impl FnOnce(&mut Vec<u8>), user: UserId) -> String {
    let cursor = FeedId::home(user).cursor(&(PostId::MAX, PostId::MIN));
    let mut bytes = URL_SAFE_NO_PAD.decode(cursor).expect("base64");
    bytes.truncate(bytes.len() - 4);
    change(&mut bytes);
    let sum = Sha256::new().chain_update(b"fanfold cursor").chain_update(&bytes).finalize();
    bytes.extend(&sum[..4]);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The checksum has no secret and needs none. A user who recomputes it gets another place in a list that the user
/// may read from its beginning.
#[tokio::test]
async fn a_cursor_with_a_recomputed_checksum_shows_nothing_new() {
    let (victim, attacker, stranger) =
        (Client::new().await, Client::new().await, Client::new().await);
    let secret = stranger.publish("for those who follow").await;
    victim.put(&format!("/v1/users/{}/follow", stranger.id)).await;
    let own = attacker.publish("my own").await;
    let all = [PostId::MAX, PostId::MIN, secret.parse().expect("an id"), PostId(1 << 64)];
    for before in all {
        for after in all {
            let place = (before, after);
            let mine = FeedId::home(id(&attacker)).cursor(&place);
            for query in [format!("cursor={mine}"), format!("newer_than={mine}")] {
                let answer = attacker.get(&format!("/v1/timeline?{query}")).await;
                assert_eq!(answer.status, 200, "{answer:?}");
                assert!(answer.ids().iter().all(|post| *post == own), "{answer:?}");
            }
            // a cursor of the victim's feed is refused, even with a right checksum
            let theirs = FeedId::home(id(&victim)).cursor(&place);
            let answer = attacker.get(&format!("/v1/timeline?cursor={theirs}")).await;
            assert_eq!(answer.problem(), REFUSED);
        }
    }
    let (outside, of) = ((Partition(u16::MAX), UserId(u64::MAX)), id(&victim));
    for (cursor, list) in [
        (FollowersOf(of).cursor(&outside), "followers"),
        (FollowingOf(of).cursor(&outside), "following"),
    ] {
        let answer = attacker.get(&format!("/v1/users/{}/{list}?cursor={cursor}", victim.id)).await;
        assert_eq!((answer.status, answer.ids().len()), (200, 0), "{answer:?}");
    }
}
