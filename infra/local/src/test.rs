//! `cargo local test`: every test, from the form of the source to the tools around the stack.

mod report;
mod steps;

use std::process::ExitCode;

use crate::failure::{Doing as _, Done};
use crate::place;
use report::Report;

/// Runs all of it, or what the filter leaves. What fails does not keep the rest from running.
pub fn run(filter: Option<&str>) -> Done<ExitCode> {
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    let mut report = Report::default();
    if filter.is_none() {
        steps::source(&mut report)?;
        steps::units(&mut report)?;
        steps::template(&mut report)?;
    }
    steps::system(&mut report, filter)?;
    Ok(report.close())
}
