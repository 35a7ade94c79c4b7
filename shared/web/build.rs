//! Compresses the API's description, which is a tenth then.

use std::io::Write as _;
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=openapi.json");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("openapi.json.gz");
    let mut packer = GzBuilder::new().write(Vec::new(), Compression::best());
    packer.write_all(&std::fs::read("openapi.json")?)?;
    std::fs::write(out, packer.finish()?)?;
    Ok(())
}
