//! stub
use crate::failure::Done;
use std::process::ExitCode;
pub fn run() -> Done<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
