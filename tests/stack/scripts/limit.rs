//! The script of request limits, against a model: a time until which the intervals of all requests last.

use fanfold_core::kinds::LimitKind;
use fanfold_core::{Time, UserId};
use fanfold_engines::valkey::{RateLimit, Valkey};
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;

use crate::harness::dice::Dice;
use crate::harness::valkeys::Node;

#[tokio::test]
async fn limits_match_the_model() {
    let node = Node::start(&["--enable-debug-command", "yes"]);
    let config = Config::from_pairs([("REDIS_URL", node.url())]);
    let valkey = Valkey::new(&SdkConfig::builder().build(), &config).expect("Valkey");
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..60 {
        let mut dice = Dice(seed);
        // an interval is a whole number of ms
        let per_minute = *dice.pick(&[1, 5, 20, 100, 600]);
        let limit = RateLimit { kind: LimitKind::Board, per_minute };
        let (user, interval) = (UserId(seed), 60_000 / per_minute);
        let (mut now, mut until) = (1_800_000_000_000, 0);
        for _ in 0..40 {
            now += *dice.pick(&[0, 0, 1, 700, 20_000, 60_000]);
            let count = *dice.pick(&[0, 1, 1, 2, 7, 100]);
            let (at, took) = (Time::from_ms(now), interval * count);
            let done = until.max(now) + took;
            if dice.one_in(4) {
                valkey.charge(limit, user, count, at).await.expect("charged");
                until = done;
                continue;
            }
            let over = (done - now).saturating_sub(took.max(60_000));
            let wait = valkey.count_requests(limit, user, count, at).await.expect("counted");
            assert_eq!(wait.map_or(0, |wait| wait.as_millis() as u64), over, "seed {seed}");
            match over {
                0 => (until, accepted) = (done, accepted + 1),
                _ => refused += 1,
            }
        }
    }
    assert!(refused > 200 && accepted > 200, "{refused} {accepted}");
}
