//! The messages of rankings.

use fanfold_core::registry::REBUILDS;
use fanfold_core::{Ranking, Snapshot, Time, message};
use serde::{Deserialize, Serialize};

/// The order to make a snapshot of a ranking in Valkey. Its handler reads the likes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildRanking {
    /// The ranking.
    pub ranking: Ranking,
    /// The time of the snapshot.
    #[serde(rename = "at_ms")]
    pub at: Time,
    /// The token of the lease that the sender took. The handler continues with it.
    pub lease: String,
    /// The first part of the rows that is not copied yet.
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u8,
}

impl RebuildRanking {
    /// The order to make a snapshot with this lease, from the first part on.
    pub fn new(Snapshot { ranking, at }: Snapshot, lease: String) -> Self {
        Self { ranking, at, lease, part: 0 }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { ranking: self.ranking, at: self.at }
    }
}

message!(RebuildRanking 1 on REBUILDS; in groups by |order| order.ranking);

fn is_first(part: &u8) -> bool {
    *part == 0
}
