//! Compares the threat model in README.md of this folder with the tests that it names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::harness::root;

const HEADING: &str = "# Threat model";

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

/// The texts in backticks in a cell.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Every test of the repository, as `module::path::name`. The path of a test in `tests/stack` begins with its module,
/// and the path of a test in a crate begins with the name of the crate.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(&root().join("tests/stack"), "", &mut found);
    collect(&root().join("functions"), "fanfold_functions", &mut found);
    found.extend(browser_tests());
    for entry in std::fs::read_dir(root().join("shared")).expect("the crates").flatten() {
        let name = format!("fanfold_{}", entry.file_name().to_string_lossy());
        let source = entry.path().join("src");
        if source.is_dir() {
            collect(&source, &name, &mut found);
        }
    }
    found
}

/// The tests of the page: the calls of `test` in `tests/browser`.
fn browser_tests() -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/browser")).expect("a folder").flatten() {
        if entry.path().extension().is_none_or(|extension| extension != "mjs") {
            continue;
        }
        let source = std::fs::read_to_string(entry.path()).expect("a source");
        let named = source.lines().filter_map(|line| line.strip_prefix("test(\""));
        let named = named.filter_map(|rest| rest.split('"').next());
        found.extend(named.map(|name| format!("browser::{name}")));
    }
    found
}

fn collect(folder: &Path, module: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let inner = match (module, stem.as_str()) {
            (_, "main" | "lib" | "mod" | "tests") => module.to_owned(),
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

/// The names of the functions with a test attribute.
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
    let text =
        std::fs::read_to_string(root().join("tests/stack/security/README.md")).expect("a file");
    let (tests, rows) = (tests(), rows(&text));
    assert!(tests.len() > 100, "{} tests are found", tests.len());
    assert!(rows.len() > 20, "{} threats are found", rows.len());
    for row in rows {
        let [threat, protection, named] = &row[..] else { panic!("not three cells: {row:?}") };
        assert!(!threat.is_empty() && !protection.is_empty(), "{row:?}");
        let named = quoted(named);
        assert!(!named.is_empty(), "no test for: {threat}");
        for test in named {
            assert!(
                tests.contains(&test),
                "the test {test} of the threat {threat:?} does not exist"
            );
        }
    }
}

#[test]
fn a_missing_test_is_found() {
    let text = "# Threat model\n\n| a | b | c |\n| - | - | - |\n| x | y | `security::model::nothing` |\n\n## Next\n| z |";
    let rows = rows(text);
    assert_eq!(rows, [["x", "y", "`security::model::nothing`"].map(str::to_owned)]);
    assert_eq!(quoted(&rows[0][2]), ["security::model::nothing"]);
    let tests = tests();
    assert!(!tests.contains("security::model::nothing"));
    assert!(tests.contains("security::model::a_missing_test_is_found"));
    assert!(tests.contains("fanfold_core::text::tests::handles_are_plain"));
    assert_eq!(
        names("#[test]\nfn a() {}\nfn b() {}\n#[tokio::test]\n#[x]\nasync fn c() {}"),
        ["a", "c"]
    );
}
