//! The servers that tests need, by the tests' names. A test that is not listed gets the deployed stack, so a new module
//! works without an entry, and starts sooner with one.

/// The servers and builds that tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub servers: Level,
    /// A release build of the functions.
    pub release: bool,
    /// The SAM CLI and a container engine.
    pub sam: bool,
}

/// The servers, from the fewest to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The tools: the test starts its own servers, or none.
    Tools,
    /// Valkey and the local cloud, without a stack.
    Servers,
    /// The deployed stack.
    Stack,
}

/// The servers of tests, by the beginning of their names. The longest beginning that matches counts.
const LEVELS: &[(&str, Level)] = &[
    ("boards::", Level::Tools),
    ("cluster::", Level::Servers),
    ("fixtures::", Level::Servers),
    ("histories::", Level::Servers),
    ("openapi::the_files", Level::Tools),
    ("rules::", Level::Servers),
    ("scripts::", Level::Servers),
    ("house::", Level::Tools),
    ("registry::", Level::Tools),
    ("simulation::", Level::Tools),
    ("simulation::likeness::", Level::Servers),
    ("tls::", Level::Servers),
];
/// The tests of the release build.
const RELEASE: &str = "binaries::";
/// The tests of the SAM CLI.
const SAM: &str = "tools::sam::";

fn level(test: &str) -> Level {
    let known = LEVELS.iter().filter(|(start, _)| test.starts_with(start));
    known.max_by_key(|(start, _)| start.len()).map_or(Level::Stack, |(_, level)| *level)
}

/// The names of the tests in what `cargo test -- --list` prints.
pub fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.strip_suffix(": test"))
}

/// The needs of a list of tests in the form of `cargo test -- --list`. `None` for a list without tests.
pub fn of_list(list: &str) -> Option<Needs> {
    let any = |start: &str| names(list).any(|test| test.starts_with(start));
    let servers = names(list).map(level).max()?;
    Some(Needs { servers, release: any(RELEASE), sam: any(SAM) })
}

#[cfg(test)]
mod tests {
    use super::{Level, Needs, level, of_list};

    #[test]
    fn the_longest_beginning_counts_and_the_stack_is_the_default() {
        assert_eq!(level("simulation::shrink::one"), Level::Tools);
        assert_eq!(level("simulation::likeness::one"), Level::Servers);
        assert_eq!(level("api::feeds::one"), Level::Stack);
        assert_eq!(level("openapi::the_routes"), Level::Stack);
        assert_eq!(level("a_new_module::one"), Level::Stack);
    }

    #[test]
    fn a_list_needs_what_any_of_its_tests_needs() {
        let list = "simulation::a: test\nrules::floor::b: test\n\n2 tests, 0 benchmarks\n";
        let servers = Needs { servers: Level::Servers, release: false, sam: false };
        assert_eq!(of_list(list), Some(servers));
        let stack = Needs { servers: Level::Stack, release: true, sam: false };
        assert_eq!(of_list("binaries::a: test\n"), Some(stack));
        let sam = Needs { servers: Level::Stack, release: false, sam: true };
        assert_eq!(of_list("tools::sam::a: test\ntools::local::b: test\n"), Some(sam));
        assert_eq!(of_list("0 tests, 0 benchmarks\n"), None);
    }
}
