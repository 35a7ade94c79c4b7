//! Reads the lines that libtest prints.
//!
//! They are read here rather than by a crate: test reports of libtest in JSON are unstable in the compiler that this
//! workspace builds with, and the tests in Python print the same lines.

/// What the lines of one or more runs of tests said.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// The number of lines with a result: one for each program with tests.
    pub runs: usize,
    pub passed: usize,
    pub failed: usize,
    /// The names of the tests that failed.
    pub failures: Vec<String>,
}

impl Results {
    /// Reads one line.
    pub fn read(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.runs += 1;
            self.passed += count(result, "passed");
            self.failed += count(result, "failed");
        } else if let Some(test) = line.strip_suffix(" ... FAILED") {
            self.failures.push(test.strip_prefix("test ").unwrap_or(test).to_owned());
        }
    }

    /// Reads all lines of a text.
    pub fn of(text: &str) -> Self {
        let mut results = Self::default();
        text.lines().for_each(|line| results.read(line));
        results
    }
}

fn count(result: &str, what: &str) -> usize {
    let words: Vec<&str> = result.split([' ', ';']).collect();
    let place = words.iter().position(|word| *word == what);
    let number = place.and_then(|at| at.checked_sub(1)).and_then(|at| words.get(at));
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Results;

    #[test]
    fn results_are_counted() {
        let text = "running 26 tests\ntest a::b ... FAILED\ntest a::c ... ok\n\
                    test result: FAILED. 24 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n\
                    test result: ok. 3 passed; 0 failed; 0 ignored";
        let failures = vec!["a::b".to_owned()];
        assert_eq!(Results::of(text), Results { runs: 2, passed: 27, failed: 2, failures });
        assert_eq!(Results::of("running 1 test\nkilled"), Results::default());
    }
}
