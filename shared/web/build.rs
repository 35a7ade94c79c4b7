//! Compresses the API's description, which is a tenth then, and lists the query parameters of its operations.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=openapi.json");
    let (out, api) = (PathBuf::from(std::env::var("OUT_DIR")?), std::fs::read("openapi.json")?);
    let mut packer = GzBuilder::new().write(Vec::new(), Compression::best());
    packer.write_all(&api)?;
    std::fs::write(out.join("openapi.json.gz"), packer.finish()?)?;
    std::fs::write(out.join("operations.rs"), operations(&serde_json::from_slice(&api)?)?)?;
    Ok(())
}

/// The path, the method and the query parameters of each operation, as Rust.
fn operations(api: &Value) -> Result<String, std::fmt::Error> {
    let mut list = String::from("&[\n");
    for (path, item) in api["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let names = parameters
                .filter(|one| one["in"] == "query")
                .filter_map(|one| one["name"].as_str());
            let names: Vec<&str> = names.collect();
            writeln!(list, "    ({path:?}, {:?}, &{names:?}),", method.to_uppercase())?;
        }
    }
    list.push(']');
    Ok(list)
}
