"""Runs test cases and prints the results in cargo's form, which `cargo local test` counts."""

import unittest


class Results(unittest.TestResult):
    """Prints a line for each test, and the failures at the end."""

    def __init__(self):
        super().__init__()
        self.passed = 0

    def say(self, test, passed: bool) -> None:
        name = test.id().rpartition(".")[2] if isinstance(test, unittest.TestCase) else str(test)
        print(f"test {name} ... {'ok' if passed else 'FAILED'}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1
        self.say(test, True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.say(test, False)

    def addError(self, test, error):
        super().addError(test, error)
        self.say(test, False)


def run(*cases: type[unittest.TestCase]) -> int:
    """Runs all tests of the cases. Returns the exit code."""
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    results = Results()
    unittest.TestSuite(load(case) for case in cases).run(results)
    for test, trace in results.failures + results.errors:
        print(f"\n---- {test} ----\n{trace}", flush=True)
    failed = len(results.failures) + len(results.errors)
    how = "FAILED" if failed or not results.passed else "ok"
    print(f"test result: {how}. {results.passed} passed; {failed} failed; 0 ignored", flush=True)
    return 0 if how == "ok" else 1
