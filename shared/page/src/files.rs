//! The files that browsers load, compressed by the build script.

/// A file of the page.
#[derive(Debug)]
pub struct File {
    /// The name, without a folder.
    pub name: &'static str,
    /// The media type.
    pub kind: &'static str,
    /// The content, compressed with gzip.
    pub packed: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));
