//! `cargo local test`: every test, from the form of the source to the tools around the stack.

mod checks;
mod report;
mod steps;

use std::process::ExitCode;

use crate::failure::{Doing as _, Done};
use crate::{Test, place};
use report::Report;

/// Runs all of it, or what the filter leaves. What fails does not keep the rest from running.
pub fn run(test: &Test) -> Done<ExitCode> {
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    let mut report = Report::default();
    match test {
        Test { soak: Some(seconds), .. } => steps::soak(&mut report, *seconds)?,
        Test { faults: true, .. } => steps::faults(&mut report)?,
        Test { filter: Some(filter), .. } => steps::part(&mut report, filter)?,
        Test { .. } => {
            checks::source(&mut report)?;
            checks::templates(&mut report)?;
            checks::dependencies(&mut report)?;
            steps::units(&mut report)?;
            steps::simulation(&mut report)?;
            steps::bench(&mut report)?;
            steps::system(&mut report)?;
        }
    }
    Ok(report.close())
}

/// `90`, `90s`, `10m` or `2h`, in seconds.
pub fn seconds(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (text.get(..at), 1),
        Some((at, 'm')) => (text.get(..at), 60),
        Some((at, 'h')) => (text.get(..at), 3600),
        _ => (Some(text), 1),
    };
    let number = number.and_then(|number| number.parse::<u64>().ok()).filter(|n| *n > 0);
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "a time is a number with s, m or h, such as 10m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_have_units() {
        assert_eq!(["90", "90s", "10m", "2h"].map(seconds), [90, 90, 600, 7200].map(Ok));
        for bad in ["", "m", "0", "-1s", "ten", "10 m", "99999999999999999999h"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
