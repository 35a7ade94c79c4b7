//! The operations of the API's description, which is a file.

/// The path, the method and the query parameters of each operation.
pub(crate) const OPERATIONS: &[(&str, &str, &[&str])] =
    include!(concat!(env!("OUT_DIR"), "/operations.rs"));
