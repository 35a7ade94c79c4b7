//! Errors of one line that name the program, file or setting.

use std::fmt;
use std::io;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

pub type Done<T> = Result<T, Failure>;

/// An error with this text.
pub fn failure(what: impl fmt::Display) -> Failure {
    Failure(what.to_string().replace('\n', " "))
}

/// Adds to an I/O error what the tool was doing.
pub trait Doing<T> {
    fn doing(self, what: impl fmt::Display) -> Done<T>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: impl fmt::Display) -> Done<T> {
        self.map_err(|error| failure(format!("{what}: {error}")))
    }
}
