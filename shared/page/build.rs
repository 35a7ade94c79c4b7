//! Compresses the files of the web page, and gives all of them together a version: a hash of their contents. A browser may then
//! keep each file for ever, because a changed page has other addresses.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};

type Failed = Box<dyn std::error::Error>;

/// The folders with files that browsers load. Their names must differ.
const FOLDERS: [&str; 3] = ["site", "site/docs", "site/vendor"];
/// The parts of the script of the page, in the order in which they are joined. They share one scope. One file is one
/// request, and each request is an invocation.
#[rustfmt::skip]
const PARTS: [&str; 27] = [
    "dom", "session", "route", "api", "format", "notices", "posts", "lists", "text", "icons", "marks", "dialogs", "me", "post",
    "composer", "edits", "thread", "people", "tags", "home", "views", "boards", "scheduled", "status", "sign-in", "frame", "app",
];
/// The name of the script.
const SCRIPT: &str = "app.js";
/// What the own styles begin with.
const BASE: &str = "site/look/base.css";
const STYLES: [&str; 2] = ["page.css", "sheet.css"];

fn main() -> Result<(), Failed> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={BASE}");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let (mut listed, mut version) = (String::new(), Sha256::new());
    let mut all = vec![(SCRIPT.to_owned(), "text/javascript; charset=utf-8", script()?)];
    for file in files()? {
        println!("cargo::rerun-if-changed={}", file.display());
        let (Some(name), Some(kind)) = (file.file_name(), kind(&file)) else { continue };
        let name = name.to_str().ok_or("the name of a file is not UTF-8")?;
        let mut content = served(name, std::fs::read(&file)?)?;
        if STYLES.contains(&name) {
            content = [std::fs::read(BASE)?, content].concat();
        }
        all.push((name.to_owned(), kind, content));
    }
    for (name, kind, content) in all {
        version.update(&name);
        version.update(content.len().to_be_bytes());
        version.update(&content);
        let packed = out.join(format!("{name}.gz"));
        let mut packer = GzBuilder::new().write(Vec::new(), Compression::best());
        packer.write_all(&content)?;
        std::fs::write(&packed, packer.finish()?)?;
        writeln!(
            listed,
            "    File {{ name: {name:?}, kind: {kind:?}, packed: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.gz\")) }},"
        )?;
    }
    let version: String =
        version.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let source = format!(
        "/// A hash of all files.\npub const VERSION: &str = {version:?};\n\
         /// All files, by name.\npub const FILES: &[File] = &[\n{listed}];\n"
    );
    std::fs::write(out.join("files.rs"), source)?;
    Ok(())
}

/// The script of the page.
fn script() -> Result<Vec<u8>, Failed> {
    let folder = Path::new("site/app");
    println!("cargo::rerun-if-changed={}", folder.display());
    let there = std::fs::read_dir(folder)?.count();
    if there != PARTS.len() {
        return Err(
            format!("site/app has {there} files, and build.rs names {}", PARTS.len()).into()
        );
    }
    let mut script: Vec<String> = Vec::new();
    for part in PARTS {
        let file = folder.join(part).with_extension("js");
        println!("cargo::rerun-if-changed={}", file.display());
        script.push(without_comments(&std::fs::read_to_string(&file)?));
    }
    Ok(script.concat().into_bytes())
}

/// A script without comments and indentation, which would be a fifth of what browsers load of it. In the parts of the script,
/// a comment has lines of its own.
fn without_comments(script: &str) -> String {
    let (mut kept, mut is_comment) = (String::new(), false);
    for line in script.lines().map(str::trim) {
        let begins = line.starts_with("/*");
        if !is_comment && !begins && !line.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
        is_comment = (is_comment || begins) && !line.ends_with("*/");
    }
    kept
}

fn files() -> Result<Vec<PathBuf>, Failed> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        // a new file changes its folder
        println!("cargo::rerun-if-changed={folder}");
        for entry in std::fs::read_dir(folder)? {
            found.push(entry?.path());
        }
    }
    found.retain(|path| path.is_file());
    found.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    Ok(found)
}

/// The type of a file that browsers load. `None`: it is not served.
fn kind(file: &Path) -> Option<&'static str> {
    match file.extension()?.to_str()? {
        "js" | "mjs" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "woff2" => Some("font/woff2"),
        "json" => Some("application/json"),
        "webmanifest" => Some("application/manifest+json"),
        _ => None,
    }
}

/// The content of a file as browsers get it. The hooks of preact name the package, which browsers cannot find without a map
/// of imports. (The Content-Security-Policy forbids such a map, because it is a script in the page.)
fn served(name: &str, content: Vec<u8>) -> Result<Vec<u8>, Failed> {
    if name != "hooks.mjs" {
        return Ok(content);
    }
    let text = String::from_utf8(content)?;
    let changed = text.replacen("from\"preact\"", "from\"./preact.mjs\"", 1);
    if changed == text {
        return Err("hooks.mjs does not import preact in the expected form".into());
    }
    Ok(changed.into_bytes())
}
