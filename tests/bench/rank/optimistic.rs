//! Eight writers at once, each with WATCH and MULTI, and another try if somebody else has written.

use redis::{Client, Connection, Pipeline};

use super::plain::{SCORES, add_steps};
use super::{Change, name};

const WRITERS: usize = 8;

/// Makes all changes. Returns the number of lost tries.
pub fn set(url: &str, changes: impl Iterator<Item = Change>) -> u64 {
    let changes: Vec<Change> = changes.collect();
    let client = Client::open(url).expect("a client");
    std::thread::scope(|scope| {
        let writers: Vec<_> = changes
            .chunks(changes.len().div_ceil(WRITERS).max(1))
            .map(|own| {
                let mut connection = client.get_connection().expect("Valkey");
                scope.spawn(move || own.iter().map(|one| tries(&mut connection, one)).sum::<u64>())
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer")).sum()
    })
}

/// Makes one change. Returns the number of lost tries.
fn tries(connection: &mut Connection, Change { member, score }: &Change) -> u64 {
    let mut lost = 0;
    loop {
        let mut watch = Pipeline::new();
        watch.cmd("WATCH").arg(SCORES).ignore().cmd("HGET").arg(SCORES).arg(name(*member));
        let (known,): (Vec<u8>,) = watch.query(connection).expect("Valkey");
        let mut steps = Pipeline::new();
        add_steps(steps.atomic(), (*member, *score), &known);
        let done: Option<Vec<u64>> = steps.query(connection).expect("Valkey");
        if done.is_some() {
            return lost;
        }
        lost += 1;
    }
}
