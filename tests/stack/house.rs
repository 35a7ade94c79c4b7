//! Dependencies between crates and files: crates use only crates below them, and files have no circular imports.

mod arrows;

use std::path::{Path, PathBuf};

use crate::harness::root;
use arrows::Files;

/// The crates, each above those that it may use.
const CRATES: [(&str, &str); 7] = [
    ("fanfold-core", "shared/core"),
    ("fanfold-runtime", "shared/runtime"),
    ("fanfold-engines", "shared/engines"),
    ("fanfold-kinds", "shared/kinds"),
    ("fanfold-web", "shared/web"),
    ("fanfold-page", "shared/page"),
    ("fanfold-functions", "functions"),
];

/// Beginnings of the names of packages that a crate must not depend on.
const FOREIGN: [(&str, &[&str]); 4] = [
    ("shared/core", &["aws", "redis", "tokio", "axum", "lambda", "futures", "tracing"]),
    ("shared/runtime", &["redis", "axum", "aws-sdk-dynamodb", "lambda_http", "utoipa"]),
    ("shared/engines", &["axum", "lambda", "aws-sdk-sqs", "utoipa"]),
    ("shared/kinds", &["redis", "axum", "lambda", "aws", "utoipa", "http"]),
];

/// The names of a crate's dependencies, without those for tests.
fn dependencies(folder: &str) -> Vec<String> {
    let manifest = root().join(folder).join("Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).expect("a manifest");
    let (_, rest) = manifest.split_once("[dependencies]").expect("dependencies");
    let own = rest.split("\n[").next().unwrap_or_default();
    let names = own.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn crates_use_only_crates_below_them() {
    for (place, (name, folder)) in CRATES.iter().enumerate() {
        let own = dependencies(folder);
        for used in own.iter().filter(|used| used.starts_with("fanfold-")) {
            let below = CRATES.iter().take(place).any(|(below, _)| below == used);
            assert!(below, "{name} uses {used}, which is not below it");
        }
    }
    for (folder, foreign) in FOREIGN {
        for used in dependencies(folder) {
            let is_foreign = foreign.iter().any(|prefix| used.starts_with(prefix));
            assert!(!is_foreign, "{folder} depends on {used}");
        }
    }
}

/// The most lines of a file and of a function of the product.
const LINES_MAX: (usize, usize) = (400, 60);

/// The number of lines from the head of a function to the brace that closes it, if this is the head of one.
fn length(lines: &[&str]) -> Option<usize> {
    let head = lines.first()?.trim_start();
    let mut before = head.split(' ').take_while(|word| *word != "fn");
    let is_head = before.all(|word| word.starts_with("pub") || ["async", "const"].contains(&word));
    if !is_head || head.ends_with([';', '}']) {
        return None;
    }
    let indent = &lines.first()?[..lines.first()?.len() - head.len()];
    let closes = |line: &&str| match line.strip_prefix(indent) {
        Some(end) => end.starts_with('}') || (end.starts_with(')') && end.ends_with(';')),
        None => false,
    };
    lines.iter().position(closes).map(|last| last + 1)
}

#[test]
fn files_and_functions_are_short() {
    let (mut found, mut functions) = (Vec::new(), 0);
    for folder in ["shared", "functions"] {
        files(&root().join(folder), &mut found);
    }
    for file in found {
        let text = std::fs::read_to_string(&file).expect("a file");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= LINES_MAX.0, "{} has {} lines", file.display(), lines.len());
        for from in 0..lines.len() {
            let Some(length) = length(&lines[from..]) else { continue };
            let head = lines[from].trim();
            assert!(length <= LINES_MAX.1, "{}: {head} has {length} lines", file.display());
            functions += 1;
        }
    }
    assert!(functions > 1_000, "{functions} functions");
}

/// cargo does not compile again what was moved or copied with its `target`, so a path that was compiled in leads to another
/// place, without a sign of it.
#[test]
fn no_folder_is_compiled_in() {
    let mut found = Vec::new();
    for folder in ["shared", "functions", "infra", "tests"] {
        files(&root().join(folder), &mut found);
    }
    assert!(found.len() > 300, "{} files", found.len());
    for file in found {
        let source = std::fs::read_to_string(&file).expect("a source");
        let name = ["env!(\"CARGO_", "MANIFEST_DIR\")"].concat();
        assert!(!source.contains(&name), "{}: use the variable when it runs", file.display());
    }
}

pub fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The path of a file's module, as a list of names.
fn module(folder: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(folder).expect("in the folder").with_extension("");
    let mut names: Vec<String> =
        path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| ["mod", "lib", "main"].iter().any(|root| last == root)) {
        names.pop();
    }
    names
}

/// The paths in the `use` lines of a file. A path with braces becomes one path for each name in the braces.
fn uses(text: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    for (at, _) in product.match_indices("use ") {
        let rest = &product[at + 4..];
        let Some((tree, _)) = rest.split_once(';') else { continue };
        let starts = ["crate::", "super::", "self::"];
        if !starts.iter().any(|start| tree.starts_with(start)) {
            continue;
        }
        let (path, leaves) = match tree.split_once('{') {
            Some((path, leaves)) => (path, leaves.trim_end_matches('}').to_owned()),
            None => ("", tree.to_owned()),
        };
        for leaf in leaves.split(',') {
            let leaf = leaf.split(" as ").next().unwrap_or_default();
            let whole = format!("{path}{leaf}");
            let names =
                whole.split("::").map(|name| name.trim().trim_matches(['{', '}']).to_owned());
            all.push(names.filter(|name| !name.is_empty()).collect());
        }
    }
    all
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    for (name, folder) in CRATES.into_iter().chain([("fanfold-local", "infra/local")]) {
        let folder = match folder {
            "functions" => root().join(folder),
            _ => root().join(folder).join("src"),
        };
        let mut found = Vec::new();
        files(&folder, &mut found);
        // the thin binaries in the folders of the functions
        found.retain(|file| name != "fanfold-functions" || !file.ends_with("main.rs"));
        found.retain(|file| !file.ends_with("tests.rs"));
        let text = |file: &PathBuf| std::fs::read_to_string(file).expect("a file");
        assert!(found.len() > 3, "{name} has files");
        let files = Files::of(found.iter().map(|file| (module(&folder, file), text(file))));
        let circles = files.circles();
        assert!(circles.is_empty(), "{name}: files use each other in a circle: {circles:#?}");
    }
}

/// Functions share `http.rs` and `views` and nothing else.
#[test]
fn functions_do_not_use_each_other() {
    for function in fanfold_core::registry::FUNCTIONS {
        let mut found = Vec::new();
        files(&root().join("functions").join(function.name), &mut found);
        for file in found {
            let text = std::fs::read_to_string(&file).expect("a file");
            for names in uses(&text).iter().filter(|names| names[0] == "crate") {
                let own = [function.name, "http", "views"].contains(&names[1].as_str());
                assert!(own, "{} uses {}", file.display(), names.join("::"));
            }
        }
    }
}

/// The files of the product below a folder, each with its text without the tests.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root().join(folder), &mut found);
    let text = |file: &PathBuf| std::fs::read_to_string(file).expect("a file");
    let product = |text: String| text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    found.into_iter().map(|file| (file.clone(), product(text(&file)))).collect()
}

/// The transactions that no event announces: those that end an item, whose entries
/// then lead to nothing; the one that removes an entry without its item; and those that remove a like of a post that is
/// gone, take its likes from its author, and take a deleted reply out of its thread, which the event of the deletion has announced; the one that writes a
/// number of likes, which handlers of events do; and the one that writes followed tags, which nothing else depends on.
const WITHOUT_EVENT: [&str; 10] = [
    "put_followed",
    "cancel",
    "end_timer",
    "forget_scheduled",
    "forget_timers",
    "remove_one",
    "remove_reply",
    "remove_stray",
    "put_likes",
    "forget_likes",
];

/// A transaction takes the proof that its event was sent, or is one of those without an event.
#[test]
fn a_commit_with_an_event_takes_the_proof_that_it_was_sent() {
    let (mut announced, mut without_event) = (Vec::new(), Vec::new());
    for (file, text) in [sources("shared/kinds/src"), sources("shared/engines/src/due")].concat() {
        for function in text.split("fn ").skip(1) {
            let name = function.split(['(', '<']).next().unwrap_or_default().to_owned();
            let commits = [".commit()", ".commit_within("];
            if !commits.iter().any(|commit| function.contains(commit)) {
                continue;
            }
            let (head, _) = function.split_once(") -> ").expect("a function with a result");
            let proofs = ["_sent: Announced<", "_sent: &Announced<", "sent: &HandOn"];
            if proofs.iter().any(|proof| head.contains(proof)) {
                announced.push(name);
            } else {
                assert!(WITHOUT_EVENT.contains(&name.as_str()), "{}: {name}", file.display());
                without_event.push(name);
            }
        }
    }
    assert!(announced.len() > 10, "{announced:?}");
    without_event.sort_unstable();
    let mut known = WITHOUT_EVENT;
    known.sort_unstable();
    assert_eq!(without_event, known);
}

/// The proof comes from `announced` alone. Tests may assume it.
#[test]
fn the_proof_of_an_event_is_made_in_one_place() {
    let makers = [
        ("shared/runtime/src/sqs/outbox.rs", "fn assumed("),
        ("shared/engines/src/outbox.rs", ".announce("),
        ("shared/engines/src/outbox.rs", ".announce_all_on("),
        ("shared/engines/src/outbox.rs", ".announce_after("),
        ("shared/engines/src/due/engine.rs", ".announce_after("),
    ];
    for folder in ["shared", "functions"] {
        for (file, text) in sources(folder) {
            for maker in ["assumed(", ".announce(", ".announce_all_on(", ".announce_after("] {
                let is_home =
                    makers.iter().any(|(home, call)| file.ends_with(home) && call.contains(maker));
                let allowed = usize::from(is_home);
                assert_eq!(text.matches(maker).count(), allowed, "{}: {maker}", file.display());
            }
        }
    }
}
