//! A turn of one variant: it delivers posts until the server has used enough CPU.

use std::time::Instant;

use tokio::runtime::Runtime;

use super::variant::Variant;
use super::{Audience, Posts};

/// The measurements of a turn, for each follower of each post.
pub struct Turn {
    /// CPU time of the server.
    pub cpu_us: f64,
    pub wall_us: f64,
}

pub fn take_turn(
    variant: &mut dyn Variant,
    audience: &Audience,
    posts: &mut Posts,
    until_cpu_s: f64,
    runtime: &Runtime,
) -> Turn {
    let (mut cpu_s, mut wall_s, mut handled) = (0.0, 0.0, 0);
    loop {
        let post = posts.next();
        variant.prepare(audience, post);
        let (cpu, start) = (variant.feeds().server.cpu_s(), Instant::now());
        variant.deliver(audience, post, runtime);
        wall_s += start.elapsed().as_secs_f64();
        cpu_s += variant.feeds().server.cpu_s() - cpu;
        handled += audience.followers.len();
        variant.tidy(audience, post);
        if cpu_s >= until_cpu_s {
            let wrong = variant.feeds().wrong(audience, post);
            assert_eq!(wrong, (0, 0), "feeds that wrongly lack the post, and that wrongly have it");
            let each = |seconds: f64| seconds * 1e6 / handled as f64;
            return Turn { cpu_us: each(cpu_s), wall_us: each(wall_s) };
        }
    }
}
