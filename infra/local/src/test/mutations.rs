//! Mutations: deliberate errors in a copy of the sources, each of which a test must find.
//!
//! `tests/mutations` has a file for each area of the code. A mutation names an anchor, a comment `mutation: NAME` in
//! the code that is there once and may serve several mutations. It replaces a text that is there exactly once in the
//! lines below; white space does not matter. The copy and what cargo builds of it are kept in `target/local/mutations`,
//! so a run compiles only what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::libtest::Results;
use crate::base::failure::{Doing as _, Done, failure};
use crate::base::place;
use crate::base::process::{self, Running};
use crate::base::tools::Tools;
use crate::launch::servers::Servers;
use crate::launch::{Up, valkey};

/// Lines below an anchor in which the text to replace must be.
const LINES_BELOW_ANCHOR: usize = 12;
/// A test that takes longer than this hangs. 2,000 histories take three minutes on two cores.
const TEST_WITHIN: Duration = Duration::from_secs(20 * 60);

/// The test that runs histories. It prints the number of a history that fails.
const EVERY_HISTORY: &str = "simulation::every_history";
/// Histories of each kind until a mutation counts as not found: more than the tests of every day play.
const HISTORIES: [(&str, u32); 5] = [
    ("FANFOLD_HISTORIES", 3_000),
    ("FANFOLD_LIKES", 80),
    ("FANFOLD_BOARDS", 80),
    ("FANFOLD_DUE", 110),
    ("FANFOLD_DROPPING", 120),
];
const ANCHOR: &str = "mutation: ";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    mutation: Vec<Mutation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutation {
    name: String,
    /// The rule in ARCHITECTURE.md, or a word for an area.
    rule: String,
    /// The error, as a sentence: what the changed program does wrong.
    breaks: String,
    /// The beginning of the name of the test that finds it: in tests/stack, or after the name of a crate among that
    /// crate's unit tests.
    test: String,
    anchor: String,
    old: String,
    new: String,
    /// More changes that belong to this mutation.
    #[serde(default)]
    also: Vec<Change>,
}

/// A text below an anchor, and the one that replaces it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    anchor: String,
    old: String,
    new: String,
}

impl Mutation {
    fn changes(&self) -> Vec<Change> {
        let (anchor, old, new) = (self.anchor.clone(), self.old.clone(), self.new.clone());
        [Change { anchor, old, new }].into_iter().chain(self.also.iter().cloned()).collect()
    }
}

/// The folder of the mutations.
const FOLDER: &str = "tests/mutations";

/// The mutations of all files.
fn load() -> Done<Vec<Mutation>> {
    let (folder, mut files) = (place::root().join(FOLDER), BTreeSet::new());
    for entry in fs::read_dir(&folder).doing(folder.display())? {
        files.insert(entry.doing(folder.display())?.path());
    }
    let mut mutations = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).doing(file.display())?;
        let table: Table = toml::from_str(&text)
            .map_err(|error| failure(format!("{}: {}", file.display(), error.message())))?;
        mutations.extend(table.mutation);
    }
    Ok(mutations)
}

/// Files of the product's code, by their paths in the repository.
type Sources = BTreeMap<PathBuf, String>;

/// Reads the code that a mutation may change.
fn sources() -> Done<Sources> {
    let mut sources = Sources::new();
    let mut folders = vec![PathBuf::from("shared"), PathBuf::from("functions")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(place::root().join(&folder)).doing(folder.display())?;
        for entry in entries {
            let entry = entry.doing(folder.display())?;
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "lua") {
                let text = fs::read_to_string(entry.path()).doing(path.display())?;
                sources.insert(path, text);
            }
        }
    }
    Ok(sources)
}

/// The anchor that a line is.
fn anchor_of(line: &str) -> Option<&str> {
    let line = line.trim();
    line.strip_prefix("//").or(line.strip_prefix("--"))?.trim_start().strip_prefix(ANCHOR)
}

/// The files that a mutation changes, with their new texts.
fn mutated(sources: &Sources, mutation: &Mutation) -> Result<Sources, String> {
    let mut changed = Sources::new();
    for Change { anchor, old, new } in mutation.changes() {
        let is_here = |text: &str| text.lines().any(|line| anchor_of(line) == Some(&anchor));
        let (path, text) = sources
            .iter()
            .find(|(_, text)| is_here(text))
            .ok_or_else(|| format!("{}: no anchor `{anchor}` in the code", mutation.name))?;
        let text = changed.get(path).unwrap_or(text);
        let replaced = replaced(text, &anchor, &old, &new);
        let replaced = replaced.map_err(|why| {
            format!("{}: {}, below `{anchor}`: {why}", mutation.name, path.display())
        })?;
        changed.insert(path.clone(), replaced);
    }
    Ok(changed)
}

/// Replaces a text below an anchor.
fn replaced(text: &str, anchor: &str, old: &str, new: &str) -> Result<String, String> {
    let mut lines = text.split_inclusive('\n');
    let mut start = 0;
    for line in lines.by_ref() {
        start += line.len();
        if anchor_of(line) == Some(anchor) {
            break;
        }
    }
    let window: String = lines.take(LINES_BELOW_ANCHOR).collect();
    let found = places(&window, old);
    let [Range { start: from, end: to }] = found.as_slice() else {
        let (count, old) = (found.len(), old.trim());
        return Err(format!("{count} times in {LINES_BELOW_ANCHOR} lines, not once: {old}"));
    };
    let before = text.get(..start + from).unwrap_or_default();
    let after = text.get(start + to..).unwrap_or_default();
    Ok(format!("{before}{}{after}", new.trim()))
}

/// Where a text is, whatever the white space.
fn places(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let solid: Vec<(usize, char)> =
        text.char_indices().filter(|(_, char)| !char.is_whitespace()).collect();
    let wanted: Vec<char> = wanted.chars().filter(|char| !char.is_whitespace()).collect();
    let here = |place: &[(usize, char)]| {
        let is_wanted = place.iter().map(|(_, char)| char).eq(&wanted);
        let ((from, _), (to, last)) = (place.first()?, place.last()?);
        is_wanted.then_some(*from..to + last.len_utf8())
    };
    solid.windows(wanted.len().max(1)).filter_map(here).collect()
}

/// A test that finds mutations: what cargo runs, and the beginning of the test's name there.
struct Test<'a> {
    name: &'a str,
    /// Where the test is: `tests/stack`, or the sources of a crate.
    folder: PathBuf,
    cargo: Vec<String>,
    filter: String,
}

impl<'a> Test<'a> {
    fn of(name: &'a str) -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match name.strip_prefix("fanfold_").and_then(|rest| rest.split_once("::")) {
            Some((krate, filter)) => Self {
                name,
                folder: Path::new("shared").join(krate).join("src"),
                cargo: words(&["-p", &format!("fanfold-{krate}"), "--lib"]),
                filter: filter.to_owned(),
            },
            None => Self {
                name,
                folder: PathBuf::from("tests/stack"),
                cargo: words(&["-p", "fanfold-tests", "--test", "stack"]),
                filter: name.to_owned(),
            },
        }
    }

    /// Whether the test needs Valkey and the local cloud. The simulation starts its own Valkey.
    fn needs_servers(&self) -> bool {
        self.folder.starts_with("tests") && !self.filter.starts_with("simulation::")
    }

    /// Whether the test exists, according to the names of files and functions.
    fn exists(&self) -> bool {
        let (mut folder, mut file) = (place::root().join(&self.folder), PathBuf::new());
        for word in self.filter.split("::") {
            let own = folder.join(word);
            let modules = [own.with_extension("rs"), own.join("mod.rs")];
            let Some(module) = modules.into_iter().find(|module| module.is_file()) else {
                let text = fs::read_to_string(&file).unwrap_or_default();
                return self.filter.ends_with(word) && text.contains(&format!("fn {word}"));
            };
            (folder, file) = (own, module);
        }
        true
    }
}

/// The problems of the list. Empty if each mutation can be applied and each anchor is used.
fn problems(sources: &Sources, mutations: &[Mutation]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    let mut used = BTreeSet::new();
    for mutation in mutations {
        if !names.insert(&mutation.name) {
            problems.push(format!("{}: duplicate name", mutation.name));
        }
        if !Test::of(&mutation.test).exists() {
            problems.push(format!("{}: there is no test {}", mutation.name, mutation.test));
        }
        problems.extend(mutated(sources, mutation).err());
        used.extend(mutation.changes().into_iter().map(|change| change.anchor));
    }
    let mut anchors = BTreeSet::new();
    for (path, text) in sources {
        for anchor in text.lines().filter_map(anchor_of) {
            if !anchors.insert(anchor) {
                problems.push(format!("{}: `{anchor}` is a duplicate anchor", path.display()));
            }
            if !used.contains(anchor) {
                problems.push(format!("{}: no mutation has `{anchor}`", path.display()));
            }
        }
    }
    problems
}

/// A copy of the working tree, and what cargo builds of it.
struct Scratch {
    folder: PathBuf,
    tools: Tools,
    /// Held as long as the copy is used.
    _lock: File,
}

impl Scratch {
    fn new() -> Done<Self> {
        let folder = place::local().join("mutations");
        fs::create_dir_all(&folder).doing(folder.display())?;
        let lock = File::create(folder.join("lock")).doing(folder.display())?;
        if lock.try_lock().is_err() {
            return Err(failure(format!("another run uses {}", folder.display())));
        }
        let scratch = Self { folder, tools: Tools::cloud(false)?, _lock: lock };
        scratch.refresh()?;
        Ok(scratch)
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Copies every file that differs. What is the same keeps its time, so cargo does not compile it again.
    fn refresh(&self) -> Done<()> {
        let doing = "listing the files of the working tree";
        let mut list = Command::new("git");
        list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = list.current_dir(place::root()).output().doing(doing)?;
        if !listed.status.success() {
            let why = String::from_utf8_lossy(&listed.stderr).trim().to_owned();
            return Err(failure(format!("{doing}: {why}")));
        }
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let is_file = |name: &&str| place::root().join(name).is_file();
        let files: BTreeSet<&str> = listed.split('\0').filter(is_file).collect();
        let (tree, list) = (self.tree(), self.folder.join("files.txt"));
        let before = fs::read_to_string(&list).unwrap_or_default();
        for gone in before.lines().filter(|name| !files.contains(name)) {
            // one that is not there is what we want
            let _gone = fs::remove_file(tree.join(gone));
        }
        fs::write(&list, files.iter().flat_map(|name| [name, "\n"]).collect::<String>())
            .doing(list.display())?;
        for name in files {
            let (from, to) = (place::root().join(name), tree.join(name));
            let content = fs::read(&from).doing(from.display())?;
            if fs::read(&to).is_ok_and(|copied| copied == content) {
                continue;
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).doing(folder.display())?;
            }
            fs::write(&to, content).doing(to.display())?;
        }
        Ok(())
    }

    fn write<'a>(&self, files: impl IntoIterator<Item = (&'a PathBuf, &'a String)>) -> Done<()> {
        for (path, text) in files {
            let file = self.tree().join(path);
            fs::write(&file, text).doing(file.display())?;
        }
        Ok(())
    }

    fn cargo(&self, test: &Test) -> Done<Command> {
        let mut cargo = Command::new("cargo");
        cargo.args(["test", "--locked"]).args(&test.cargo).current_dir(self.tree());
        // Not the folder of the working tree: cargo names a crate by its path within the workspace. A crate of the copy
        // has the same names there, and with mutations it would be taken for the one of the working tree.
        cargo.env("CARGO_TARGET_DIR", self.folder.join("target"));
        cargo.env("FANFOLD_CLOUD_TOOLS", self.tools.bin(""));
        for (histories, count) in HISTORIES {
            cargo.env(histories, count.to_string());
        }
        // how a history goes wrong is enough here; how short it can be is not asked
        cargo.env("FANFOLD_SHRINK_S", "0");
        cargo.env("FANFOLD_VALKEY", valkey::program(&self.tools)?);
        Ok(cargo)
    }

    /// Compiles a test, and runs it.
    fn run(&self, test: &Test) -> Done<Outcome> {
        let log = self.folder.join("build.log");
        let mut build = self.cargo(test)?;
        let file = File::create(&log).doing(log.display())?;
        build.arg("--no-run").stdout(file.try_clone().doing(log.display())?).stderr(file);
        if !process::run(build)?.success() {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let error = text.lines().find(|line| line.starts_with("error"));
            return Ok(Outcome::NotCompiled(error.unwrap_or("cargo says no error").to_owned()));
        }
        let mut run = self.cargo(test)?;
        run.args(["--", &test.filter]);
        // servers of this run alone: what a mutation leaves in them concerns no other
        let up = Up { port: None, aws_port: None, valkey_port: None, containers: None };
        let servers = test.needs_servers().then(|| Servers::start(Tools::cloud(true)?, &up, true));
        let servers = servers.transpose()?;
        if let Some(servers) = &servers {
            servers.environment(&mut run)?;
        }
        let (log, start) = (self.folder.join("test.log"), Instant::now());
        let mut running = Running::start("the test", run, &log)?;
        while !running.ended() {
            process::pause()?;
            if start.elapsed() > TEST_WITHIN {
                return Ok(Outcome::Hung);
            }
        }
        Ok(Outcome::of(&fs::read_to_string(&log).doing(log.display())?))
    }
}

/// How a run of a test ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(Finding),
    NotCompiled(String),
    Hung,
    /// Neither passed nor failed.
    Unclear(String),
}

/// The finding of a failed test.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    tests: Vec<String>,
    /// Of the simulation: the history in which it was found.
    history: Option<u64>,
    /// The first line of the first panic.
    why: String,
}

impl Outcome {
    /// Reads what `cargo test` wrote.
    fn of(log: &str) -> Self {
        let Results { runs, passed, failed, failures } = Results::of(log);
        if runs == 0 {
            let last = log.lines().rev().find(|line| !line.trim().is_empty());
            return Self::Unclear(last.unwrap_or("the test wrote nothing").to_owned());
        }
        if (passed, failed) == (0, 0) {
            return Self::Unclear("no test has that name".to_owned());
        }
        if failed == 0 {
            return Self::Passed;
        }
        let wrong = log.lines().find_map(|line| {
            let (seed, why) = line.strip_prefix("seed ")?.split_once(" fails: ")?;
            Some((seed.parse().ok()?, why.to_owned()))
        });
        let mut lines = log.lines().skip_while(|line| !line.contains("panicked at"));
        let panic = lines.nth(1).unwrap_or_default().to_owned();
        let (history, why) = match wrong {
            Some((history, why)) => (Some(history), why),
            None => (None, panic),
        };
        Self::Failed(Finding { tests: failures, history, why })
    }
}

/// A line of the table.
struct Row<'a> {
    /// The place of the mutation among all.
    place: usize,
    mutation: &'a Mutation,
    outcome: Outcome,
    took: Duration,
}

impl Row<'_> {
    /// Whether the test found the mutation. Of the histories, one must have failed: the run also fails if it counts too
    /// few events of a kind, which a mutation may cause without breaking a rule that is checked.
    fn is_caught(&self) -> bool {
        match &self.outcome {
            Outcome::Failed(found) => {
                self.mutation.test != EVERY_HISTORY || found.history.is_some()
            }
            _ => false,
        }
    }

    /// For the table: what found it.
    fn found(&self) -> String {
        let Test { name, filter, .. } = Test::of(&self.mutation.test);
        let krate = name.strip_suffix(&filter).unwrap_or_default();
        match &self.outcome {
            Outcome::Failed(Finding { why, .. }) if !self.is_caught() => {
                format!("**not caught** by `{name}`, which fails without a history: {why}")
            }
            Outcome::Failed(Finding { history: Some(history), .. }) => {
                format!("`{name}`, history {history}")
            }
            Outcome::Failed(Finding { tests, .. }) => match tests.as_slice() {
                [] => format!("`{name}`"),
                [one] => format!("`{krate}{one}`"),
                [one, others @ ..] => format!("`{krate}{one}` and {} more", others.len()),
            },
            Outcome::Passed => format!("**not caught** by `{name}`"),
            Outcome::NotCompiled(why) => format!("**does not compile**: {why}"),
            Outcome::Hung => format!("**hangs**: `{name}`"),
            Outcome::Unclear(why) => format!("**unclear**: {why}"),
        }
    }
}

/// The table in Markdown.
fn table(rows: &[Row]) -> String {
    let head = "| rule | mutation | what it breaks | caught by | seconds |\n| --- | --- | --- | --- | --- |\n";
    let line = |row: &Row| {
        let Mutation { name, rule, breaks, .. } = row.mutation;
        format!("| {rule} | `{name}` | {breaks} | {} | {} |\n", row.found(), row.took.as_secs())
    };
    head.chars().chain(rows.iter().map(line).collect::<String>().chars()).collect()
}

/// Applies the mutations whose names contain one of these texts, one by one, and prints the table. Fails if a test does not find
/// its mutation.
pub fn run(filter: &str) -> Done<ExitCode> {
    let (mutations, sources) = (load()?, sources()?);
    let problems = problems(&sources, &mutations);
    if !problems.is_empty() {
        return Err(failure(format!("{FOLDER}: {}", problems.join("; "))));
    }
    let is_named = |one: &Mutation| filter.split(',').any(|name| one.name.contains(name));
    let named = mutations.iter().enumerate().filter(|(_, one)| is_named(one));
    let mut chosen: Vec<(usize, &Mutation)> = named.collect();
    if chosen.is_empty() {
        let names: Vec<&str> = mutations.iter().map(|mutation| mutation.name.as_str()).collect();
        return Err(failure(format!(
            "no mutation name contains one of {filter}: {}",
            names.join(", ")
        )));
    }
    let scratch = Scratch::new()?;
    println!("compiling a copy of the working tree, which takes minutes the first time");
    let tests: BTreeSet<&str> = chosen.iter().map(|(_, one)| one.test.as_str()).collect();
    for name in tests {
        let start = Instant::now();
        match scratch.run(&Test::of(name))? {
            Outcome::Passed => {
                println!("unchanged: {name} passes ({} s)", start.elapsed().as_secs())
            }
            other => return Err(failure(format!("the code is unchanged, and {name}: {other:?}"))),
        }
    }
    // those of one crate after another: what is below it is compiled once
    chosen.sort_by_key(|(_, one)| {
        mutated(&sources, one).ok().and_then(|files| files.into_keys().next())
    });
    let mut rows = Vec::new();
    for (place, mutation) in chosen {
        let start = Instant::now();
        let changed = mutated(&sources, mutation).map_err(failure)?;
        scratch.write(&changed)?;
        let outcome = scratch.run(&Test::of(&mutation.test));
        scratch.write(sources.iter().filter(|(path, _)| changed.contains_key(*path)))?;
        let row = Row { place, mutation, outcome: outcome?, took: start.elapsed() };
        println!("{}: {} ({} s)", mutation.name, row.found(), row.took.as_secs());
        if let Outcome::Failed(Finding { why, .. }) = &row.outcome {
            println!("    {why}");
        }
        rows.push(row);
    }
    rows.sort_by_key(|row| row.place);
    println!("\n{}", table(&rows));
    let wrong: Vec<&Row> = rows.iter().filter(|row| !row.is_caught()).collect();
    for row in &wrong {
        println!("failed: {}: {}", row.mutation.name, row.found());
    }
    println!("{} mutations: {} caught, {} not", rows.len(), rows.len() - wrong.len(), wrong.len());
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_has_its_anchor_and_text_and_every_anchor_a_mutation() {
        let (mutations, sources) = (load().unwrap(), sources().unwrap());
        let problems = problems(&sources, &mutations);
        assert!(problems.is_empty(), "{FOLDER}:\n{}", problems.join("\n"));
        let rules: BTreeSet<&str> = mutations.iter().map(|one| one.rule.as_str()).collect();
        let others = ["events", "limits", "forms"].map(str::to_owned);
        for rule in (1..=13).map(|rule| rule.to_string()).chain(others) {
            assert!(rules.contains(rule.as_str()), "no mutation of {rule}");
        }
    }

    /// Scripts that decide nothing: probes of the doctor, and the one that calls a function of `_feed.lua`.
    const DECIDE_NOTHING: [&str; 5] =
        ["begin.lua", "count.lua", "info.lua", "try.lua", "write.lua"];

    #[test]
    fn every_script_has_a_mutation() {
        let sources = sources().unwrap();
        let scripts = sources.iter().filter(|(path, _)| path.extension().unwrap() == "lua");
        let without: Vec<_> = scripts
            .filter(|(_, text)| !text.lines().any(|line| anchor_of(line).is_some()))
            .map(|(path, _)| path.file_name().unwrap().to_str().unwrap())
            // what scripts share is tested by them
            .filter(|name| !name.starts_with('_') && !DECIDE_NOTHING.contains(name))
            .collect();
        assert!(without.is_empty(), "no mutation of {without:?}");
    }

    #[test]
    fn the_text_must_be_there_once_below_its_anchor() {
        let code = "a(1);\n    // mutation: here\n    if x\n        && y {\n    a(2);\n";
        let with = |anchor, old| replaced(code, anchor, old, "b").ok();
        let changed = "a(1);\n    // mutation: here\n    if b {\n    a(2);\n";
        assert_eq!(with("here", "x && y").as_deref(), Some(changed));
        for (anchor, old) in [("here", "a(1)"), ("here", "z"), ("here", ""), ("there", "x")] {
            assert_eq!(with(anchor, old), None, "{anchor} {old}");
        }
        let twice = "-- mutation: here\na(1)\na(1)\n";
        assert!(replaced(twice, "here", "a(1)", "").is_err());
        let far = format!("-- mutation: here\n{}a(1)\n", "\n".repeat(LINES_BELOW_ANCHOR));
        assert!(replaced(&far, "here", "a(1)", "").is_err());
    }

    #[test]
    fn what_cargo_wrote_says_what_was_found() {
        let failed = "running 2 tests\ntest a::b ... FAILED\ntest a::c ... ok\n\nthread 'a::b' \
                      panicked at x.rs:1:2:\nnot so\n\ntest result: FAILED. 1 passed; 1 failed;";
        let finding =
            Finding { tests: vec!["a::b".to_owned()], history: None, why: "not so".into() };
        assert_eq!(Outcome::of(failed), Outcome::Failed(finding));
        let history = failed.replace("not so", "seed 17 fails: a post is missing\nmore");
        let Outcome::Failed(Finding { history, why, .. }) = Outcome::of(&history) else { panic!() };
        assert_eq!((history, why.as_str()), (Some(17), "a post is missing"));
        assert_eq!(Outcome::of("test result: ok. 1 passed; 0 failed;"), Outcome::Passed);
        for unclear in ["test result: ok. 0 passed;", "", "running 1 test\nkilled"] {
            assert!(matches!(Outcome::of(unclear), Outcome::Unclear(_)), "{unclear}");
        }
    }
}
