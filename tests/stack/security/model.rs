//! The threat model in ARCHITECTURE.md names tests that exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const HEADING: &str = "## Threat model";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The rows of the table: cells without their padding.
fn rows(text: &str) -> Vec<Vec<String>> {
    let section = text.split_once(HEADING).expect("a section on threats").1;
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with('|'));
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    lines.skip(2).map(cells).collect()
}

/// What stands in backticks in a cell.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Every test of the repository, as `module::path::name`: of the tests here from `tests/stack` on,
/// of others with the crate in front.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (folder, prefix) in [
        ("tests/stack", ""),
        ("shared/core/src", "fanfold_core"),
        ("shared/store/src", "fanfold_store"),
    ] {
        collect(&root().join(folder), prefix, &mut found);
    }
    found
}

fn collect(folder: &Path, module: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let inner = match (module, stem.as_str()) {
            (_, "main" | "lib" | "mod") => module.to_owned(),
            ("", _) => stem,
            _ => format!("{module}::{stem}"),
        };
        if path.is_dir() {
            collect(&path, &inner, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(&path).expect("a source");
            let inside = if module.starts_with("fanfold") { "::tests" } else { "" };
            for name in names(&source) {
                found.insert(format!("{inner}{inside}::{name}"));
            }
        }
    }
}

/// The functions that an attribute makes a test.
fn names(source: &str) -> Vec<String> {
    let mut marked = false;
    let mut names = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") || line.starts_with("//") {
            marked |= ["#[test]", "#[tokio::test"].iter().any(|mark| line.starts_with(mark));
            continue;
        }
        let name = line.trim_start_matches("async ").strip_prefix("fn ");
        if let Some(name) = name.filter(|_| marked) {
            names.extend(name.split('(').next().map(str::to_owned));
        }
        marked = false;
    }
    names
}

#[test]
fn every_threat_names_a_test_that_exists() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (tests, rows) = (tests(), rows(&text));
    assert!(tests.len() > 100, "{} tests are found", tests.len());
    assert!(rows.len() > 20, "{} threats are found", rows.len());
    for row in rows {
        let [threat, protection, named] = &row[..] else { panic!("not three cells: {row:?}") };
        assert!(!threat.is_empty() && !protection.is_empty(), "{row:?}");
        let named = quoted(named);
        assert!(!named.is_empty(), "no test for: {threat}");
        for test in named {
            assert!(tests.contains(&test), "{test}, which shows {threat:?}, does not exist");
        }
    }
}

#[test]
fn a_table_with_a_test_that_does_not_exist_is_noticed() {
    let text = "## Threat model\n\n| a | b | c |\n| - | - | - |\n| x | y | `security::model::nothing` |\n\n## Next\n| z |";
    let rows = rows(text);
    assert_eq!(rows, [["x", "y", "`security::model::nothing`"].map(str::to_owned)]);
    assert_eq!(quoted(&rows[0][2]), ["security::model::nothing"]);
    let tests = tests();
    assert!(!tests.contains("security::model::nothing"));
    assert!(tests.contains("security::model::a_table_with_a_test_that_does_not_exist_is_noticed"));
    assert!(tests.contains("fanfold_core::text::tests::handles_are_plain"));
    assert_eq!(
        names("#[test]\nfn a() {}\nfn b() {}\n#[tokio::test]\n#[x]\nasync fn c() {}"),
        ["a", "c"]
    );
}
