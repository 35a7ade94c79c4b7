//! Removes the white space of the API's description, which is half of it.

use std::path::PathBuf;

/// A JSON text without white space outside its strings.
fn minified(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let kept = |letter: &char| {
        let is_kept = in_string || !letter.is_ascii_whitespace();
        if *letter == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = *letter == '\\' && !escaped;
        is_kept
    };
    json.chars().filter(kept).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=openapi.json");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("openapi.json");
    std::fs::write(out, minified(&std::fs::read_to_string("openapi.json")?))?;
    Ok(())
}
