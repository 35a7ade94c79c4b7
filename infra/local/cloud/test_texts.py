"""Compares makefiles and documents with the files, parameters, logs and tests that they name. No server is needed.

    test_texts.py
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from samtranslator.yaml_helper import yaml_parse

import results

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
INFRA = ROOT / "infra"
README = (ROOT / "README.md").read_text()
RUNBOOK = (INFRA / "RUNBOOK.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
# Folders that hold no source of the project.
SKIPPED = {"target", "node_modules", "__pycache__", ".git"}


def files_below(folder: pathlib.Path) -> list[pathlib.Path]:
    """All files of the project below a folder, relative to the root."""
    found = []
    for each in sorted(folder.iterdir()):
        if each.name in SKIPPED:
            continue
        if each.is_dir():
            found += files_below(each)
        else:
            found.append(each.relative_to(ROOT))
    return found


FILES = files_below(ROOT)
DOCUMENTS = {file.as_posix(): (ROOT / file).read_text() for file in FILES if file.suffix == ".md"}
SAMPLES = [json.loads(line) for line in (HERE / "log_samples.jsonl").read_text().splitlines()]

# ---- makefiles ---------------------------------------------------------------------------------

# Features that GNU make 3.81 does not have, from the NEWS of later releases.
NEWER_THAN_3_81 = {
    "3.82": [
        r"\.RECIPEPREFIX\b",
        r"\.SHELLFLAGS\b",
        r"\.ONESHELL\b",
        r"^ *(override +|export +)*private\b",
        r":.*\bprivate\b.*=",
        r"^ *undefine\b",
        r"^ *(override +)?define +\S+ *[:?+!]*=",
        r"^ *(override|export|unexport) +(override|export|unexport|define)\b",
        r"--eval\b",
    ],
    "4.0": [r"!=", r"::=", r"\$[({]file ", r"\$[({]guile ", r"^ *-?load\b", r"GNUMAKEFLAGS", r"\bMAKE_HOST\b"]
    + [r"--output-sync\b", r"--trace\b"],
    "4.1": [r"\bMAKE_TERM(OUT|ERR)\b"],
    "4.2": [r"\.SHELLSTATUS\b"],
    "4.3": [r"&::?", r"\.EXTRA_PREREQS\b", r"--no-silent\b"],
    "4.4": [r":::=", r"\$[({]let ", r"\$[({]intcmp ", r"\.WAIT\b", r"\.NOTINTERMEDIATE\b", r"--shuffle\b"]
    + [r"^[^\t#=]*:.*\bunexport\b", r"[?+]:+=", r"\.WARNINGS\b"],
}


def newer(makefile: str) -> list[str]:
    """The parts of a makefile that 3.81 does not understand."""
    found = []
    for number, line in enumerate(makefile.splitlines(), 1):
        is_recipe, text = line.startswith("\t"), line.partition("#")[0]
        # in a recipe, make reads variables and functions alone; the rest is the shell's
        text = " ".join(re.findall(r"\$[({][^\s]* ?", text)) if is_recipe else text
        for version, patterns in NEWER_THAN_3_81.items():
            found += [f"line {number}: {line.strip()} ({version})" for each in patterns if re.search(each, text)]
    return found


class Makefiles(unittest.TestCase):
    files = [*INFRA.glob("build/*.mk"), *INFRA.glob("build/*/Makefile")]

    def test_makefiles_have_nothing_newer_than_make_3_81(self):
        self.assertEqual(len(self.files), 3)
        for file in self.files:
            self.assertEqual(newer(file.read_text()), [], file.relative_to(ROOT))

    def test_what_is_newer_is_found(self):
        for line in (
            ".RECIPEPREFIX := >",
            ".ONESHELL:",
            "OUT != ls",
            "A ::= b",
            "A :::= b",
            "\techo $(file < list)",
            "X := $(file >list,$(Y))",
            "define RULE =",
            "undefine X",
            "private X := 1",
            "all: private X := 1",
            "override export X := 1",
            "a b &: c",
            "$(let x,1,$(x))",
            "$(intcmp 1,2,a)",
            "MAKEFLAGS += --output-sync",
        ):
            self.assertTrue(newer(line), line)
        for line in ("\tif [ a != b ]; then echo; fi", "define RULE", "export PATH := a:$(PATH)", "# not .ONESHELL"):
            self.assertEqual(newer(line), [])

    def test_recipes_name_what_is_built_and_where_it_goes(self):
        for architecture, flag in (("arm64", "--arm64"), ("x86_64", "--x86-64")):
            with tempfile.TemporaryDirectory() as artifacts:
                command = ["make", "-n", f"ARTIFACTS_DIR={artifacts}", "build-Posts"]
                made = subprocess.run(command, cwd=INFRA / "build" / architecture, capture_output=True, text=True)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.assertIn("cargo lambda build --release --locked -p fanfold-functions --bin fanfold", made.stdout)
                self.assertIn(f" {flag} ", made.stdout)
                self.assertIn(f'"{artifacts}/bootstrap"', made.stdout)


# ---- searches in logs --------------------------------------------------------------------------


def sources() -> str:
    files = [file for part in ("shared", "functions") for file in sorted((ROOT / part).rglob("*.rs"))]
    return "\n".join(file.read_text() for file in files)


def said_by(source: str) -> dict[str, set[str]]:
    """The levels at which functions log each text."""
    said = {}
    for found in re.finditer(r"tracing::(error|warn|info|debug|trace)!\(", source):
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(source[end], 0)
            end += 1
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', source[found.end() : end]):
            said.setdefault(text, set()).add(found[1].upper())
    return said


def greps(text: str) -> list[tuple[bool, list[str]]]:
    """The alternatives of each `grep`, and whether it ignores case."""
    found = []
    for options, pattern in re.findall(r"\bgrep((?: -[A-Za-z]+)*) ('[^']*'|[^\s`]+)", text):
        alternatives = pattern.strip("'").split("|") if "E" in options else [pattern.strip("'")]
        found.append(("i" in options, alternatives))
    return found


def filters(text: str) -> list[str]:
    """The filter patterns that CloudWatch Logs gets."""
    return re.findall(r"'(\{ [^']* \})'", text)


def terms(pattern: str) -> list[tuple[str, str]]:
    """(selector, value) of each comparison in a filter pattern for JSON."""
    found = re.findall(r'\(?\$\.([a-z_.A-Z]+) = "?([^"()|&]*?)"? *(?=[)|&}])', pattern)
    if len(found) != pattern.count("$."):
        raise AssertionError(f"not understood: {pattern}")
    return found


def holds(sample: dict, selector: str, value: str) -> bool:
    for name in selector.split("."):
        sample = sample.get(name) if isinstance(sample, dict) else None
    return isinstance(sample, str) and re.fullmatch(re.escape(value).replace(r"\*", ".*"), sample) is not None


class Searches(unittest.TestCase):
    def test_every_search_of_the_runbook_finds_what_logs_contain(self):
        lines = [json.dumps(sample, separators=(",", ":"), ensure_ascii=False) for sample in SAMPLES]
        searched = greps(RUNBOOK)
        self.assertTrue(searched)
        for ignores_case, alternatives in searched:
            for each in alternatives:
                matching = re.compile(each, re.IGNORECASE if ignores_case else 0)
                self.assertTrue(any(map(matching.search, lines)), f"no line has {each}")
        patterns = filters(RUNBOOK)
        self.assertTrue(patterns)
        for pattern in patterns:
            for selector, value in terms(pattern):
                found = any(holds(sample, selector, value) for sample in SAMPLES)
                self.assertTrue(found, f"no line has {selector} = {value}")

    def test_nothing_is_searched_that_only_plain_logs_have(self):
        # LogFormat: JSON writes none of these
        for text in ("Task timed out", "timed out after", "REPORT RequestId", "START RequestId", "Runtime exited"):
            self.assertFalse(text in RUNBOOK, f"{text} is in no JSON log")

    def test_the_samples_are_what_functions_and_lambda_write(self):
        said = said_by(sources())
        for sample in SAMPLES:
            if "type" in sample:
                self.assertRegex(sample["type"], "^platform[.](start|report|runtimeDone|initReport|fault)$")
                record = sample["record"]
                if "status" in record:
                    self.assertIn(record["status"], ("success", "failure", "error", "timeout"))
                continue
            self.assertTrue(sample["message"] in said, f"no function says: {sample['message']}")
            self.assertIn(sample["level"], said[sample["message"]])

    def test_the_texts_that_the_runbook_quotes_are_in_the_source(self):
        self.assertTrue('"the setting {0} is missing"' in sources())
        self.assertTrue("`the setting … is missing`" in RUNBOOK)


# ---- parameters --------------------------------------------------------------------------------


def rows() -> dict[str, tuple[str, str]]:
    """Setting and default of each parameter in the table."""
    table = (INFRA / "PARAMETERS.md").read_text()
    found = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 4 or not cells[0].startswith("`"):
            continue
        names = re.findall(r"`([A-Za-z]+)`", cells[0])
        defaults = [part.strip().strip("`") for part in cells[2].split(", ")]
        defaults = defaults * len(names) if len(defaults) == 1 else defaults
        if len(names) != len(defaults):
            raise AssertionError(f"{len(names)} parameters with {len(defaults)} defaults: {line}")
        found |= {name: (cells[1], default) for name, default in zip(names, defaults)}
    return found


def says(default: str, value: str) -> bool:
    """Whether a cell of the table gives this default. A text after it explains it."""
    if value == "":
        return default.startswith(("none", "empty"))
    return re.match(re.escape(value) + r"($|[ :/`])", default) is not None


class Parameters(unittest.TestCase):
    template = yaml_parse((INFRA / "template.yaml").read_text())["Parameters"]

    def test_every_parameter_is_in_the_table_with_its_default(self):
        documented = rows()
        self.assertEqual(documented.keys() ^ self.template.keys(), set())
        for name, declared in self.template.items():
            default, value = documented[name][1], str(declared["Default"])
            self.assertTrue(says(default, value), f"{name}: PARAMETERS.md says {default}, the template {value!r}")

    def test_every_parameter_that_the_texts_name_exists(self):
        texts = "\n".join(DOCUMENTS.values())
        named = re.findall(r"`([A-Z][A-Za-z]+)=[^`]*`|\b([A-Z][A-Za-z]+)=(?:true|false|[0-9]+)\b", texts)
        names = {one or other for one, other in named}
        self.assertTrue(names)
        self.assertLessEqual(names - {"PASSWORD", "Value"}, self.template.keys())

    def test_a_running_stack_is_changed_by_way_of_samconfig(self):
        for name, text in (("infra/README.md", (INFRA / "README.md").read_text()), ("RUNBOOK.md", RUNBOOK)):
            joined = text.replace("\\\n", " ")
            once = re.findall(r"sam deploy[^\n`]*--parameter-overrides", joined)
            self.assertEqual(once, [], f"{name}: the next deployment undoes it")
            self.assertTrue("samconfig.toml" in text, f"{name} does not say where a parameter is changed")


# ---- documents ---------------------------------------------------------------------------------


def prose(text: str) -> str:
    """A document without its code blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[str]:
    """The code spans of a document."""
    return [" ".join(each.split()) for each in re.findall(r"`([^`]+)`", prose(text))]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(plain if plain not in found else f"{plain}-1")
    return found


def links(text: str) -> list[str]:
    """The targets of a document's links and images to files of the project."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(text))
    return [target for target in targets if "://" not in target]


PATH = re.compile(r"[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*/?")
FOLDERS = ("functions/", "shared/", "infra/", "tests/")
# Files that a command writes below `target`.
WRITTEN = {"sam-env.json", "functions.env", "summary.json", "details.json"}
SUFFIXES = (".rs", ".lua", ".py", ".yaml", ".toml", ".md", ".json")


def paths(text: str) -> set[str]:
    """The paths of files and folders of the project in code spans. `<name>` is a part that readers fill in."""
    found = {each for span in spans(text) for each in span.split() if PATH.fullmatch(each)}
    return {each for each in found - WRITTEN if each.startswith(FOLDERS) or each.endswith(SUFFIXES)}


def exists(path: str) -> bool:
    """Whether a file or folder has this path, or ends with it: `valkey/link.rs`."""
    pattern = re.escape(path.rstrip("/")).replace(r"\*", "[^/]*")
    pattern = re.compile(f"(.*/)?{pattern}(/.*)?")
    return any(pattern.fullmatch(file.as_posix()) for file in FILES)


def modules(text: str) -> set[tuple[str, str]]:
    """The tests that a document names by module, such as `rules::floor`: the first two parts."""
    stack = {file.stem for file in (ROOT / "tests/stack").glob("*.rs")}
    named = (re.fullmatch(r"(\w+)::(\w+)(::\w+)*", span) for span in spans(text))
    return {(found[1], found[2]) for found in named if found and found[1] in stack}


def is_module(group: str, name: str) -> bool:
    """Whether `tests/stack` has the module `group::name`, or a test in `group` whose name begins with `name`."""
    stack = ROOT / "tests/stack"
    if (stack / group / f"{name}.rs").exists() or (stack / group / name).is_dir():
        return True
    sources = [stack / f"{group}.rs", *(stack / group).rglob("*.rs")]
    return any(re.search(rf"\bfn {name}", file.read_text()) for file in sources if file.exists())


# Texts about the origin of a document, or about the machine on which it was written.
FOREIGN = [r"/work/", r"/tmp/", r"/home/", r"\bissue #?[0-9]", r"\bsessions?\b", r"\bthis brief\b"]
FOREIGN += [r"\bas (asked|requested)\b", r"\b(TODO|FIXME|TBD|XXX)\b", r"\bsub-?agent", r"\bprompt\b"]
# Phrases that are hard to understand.
RIDDLES = [r"(?<!-)\banew\b", r"\bminus nothing\b", r"\bfor so long\b", r"\bnot before so\b", r"\bwho is not\b"]
RIDDLES += [r"\btakes it that\b", r"\bnobody has seen\b", r"\bit is meant\b", r"\bthrice\b", r"\bby way of\b"]


# The most words of each document, and of a folder's documents together.
BUDGETS = {"README.md": 1500, "ARCHITECTURE.md": 3500, "shared/web/guide/": 4200, "functions/README.md": 1000}
BUDGETS |= {"infra/README.md": 2600, "infra/PARAMETERS.md": 1430, "infra/RUNBOOK.md": 2910, "tests/README.md": 1100}
BUDGETS |= {"tests/stack/security/README.md": 1400, "tests/bench/README.md": 900}


class Documents(unittest.TestCase):
    def test_no_document_is_longer_than_its_budget(self):
        words = dict.fromkeys(BUDGETS, 0)
        for name, text in DOCUMENTS.items():
            found = [each for each in BUDGETS if name == each or (each.endswith("/") and name.startswith(each))]
            self.assertEqual(len(found), 1, f"{name} has no budget")
            words[found[0]] += len(text.split())
        for name, budget in BUDGETS.items():
            with self.subTest(document=name):
                self.assertLessEqual(words[name], budget, f"{name} has {words[name]} words")
                self.assertGreater(words[name], 0, f"{name} does not exist")

    def test_the_documents_are_there(self):
        wanted = {"README.md", "ARCHITECTURE.md", "infra/README.md", "infra/PARAMETERS.md", "infra/RUNBOOK.md"}
        self.assertLessEqual(wanted | {"tests/README.md", "tests/bench/README.md"}, DOCUMENTS.keys())

    def test_every_link_leads_to_a_file_and_a_heading(self):
        count = 0
        for name, text in DOCUMENTS.items():
            for target in links(text):
                file, _, anchor = target.partition("#")
                to = (ROOT / name).parent.joinpath(file).resolve() if file else ROOT / name
                self.assertTrue(to.exists(), f"{name} links to {target}, which does not exist")
                if anchor:
                    self.assertIn(anchor, anchors(to.read_text()), f"{name} links to {target}: no such heading")
                count += 1
        self.assertGreater(count, 20)

    def test_every_document_is_linked(self):
        linked = set()
        for name, text in DOCUMENTS.items():
            for target in links(text):
                to = (ROOT / name).parent.joinpath(target.partition("#")[0]).resolve()
                linked |= {to} - {ROOT / name}
        for name in DOCUMENTS.keys() - {"README.md"}:
            self.assertIn((ROOT / name).resolve(), linked, f"no document links to {name}")

    def test_every_path_exists(self):
        count = 0
        for name, text in DOCUMENTS.items():
            for path in sorted(paths(text)):
                with self.subTest(document=name, path=path):
                    self.assertTrue(exists(path), f"{name} names {path}, which does not exist")
                count += 1
        self.assertGreater(count, 40)

    def test_every_module_of_tests_exists(self):
        count = 0
        for name, text in DOCUMENTS.items():
            for group, module in sorted(modules(text)):
                with self.subTest(document=name, module=f"{group}::{module}"):
                    self.assertTrue(is_module(group, module), f"{name} names a module that does not exist")
                count += 1
        self.assertGreater(count, 30)

    def test_every_module_of_tests_is_described(self):
        table = DOCUMENTS["tests/README.md"].partition("## Groups")[2].partition("\n## ")[0]
        for file in (ROOT / "tests/stack").glob("*.rs"):
            if file.stem != "main":
                self.assertIn(f"| `{file.stem}` |", table, "tests/README.md does not describe a module of tests/stack")

    def test_the_map_shows_every_crate(self):
        shown = ARCHITECTURE.partition("## The map")[2].partition("\n## ")[0]
        for crate in sorted(each.name for each in (ROOT / "shared").iterdir() if (each / "Cargo.toml").exists()):
            self.assertIn(f"    shared/{crate}/", shown)
        self.assertIn("a folder for each Lambda function of the registry", " ".join(shown.split()))
        registry = (ROOT / "shared/core/src/registry.rs").read_text()
        registered = re.findall(r'FunctionSpec \{\s*name: "(\w+)"', registry)
        folders = sorted(each.name for each in (ROOT / "functions").iterdir() if each.is_dir())
        # views: what several functions show
        self.assertEqual(folders, sorted([*registered, "views"]))

    def test_documents_speak_of_the_project_alone(self):
        for name, text in DOCUMENTS.items():
            for pattern in FOREIGN:
                found = re.search(pattern, text, re.IGNORECASE)
                self.assertIsNone(found, f"{name}: {found and text[max(0, found.start() - 40) : found.end() + 40]!r}")

    def test_documents_have_no_riddles(self):
        for name, text in DOCUMENTS.items():
            plain = re.sub(r"`[^`]*`", "`…`", prose(text))
            for pattern in RIDDLES:
                found = re.search(pattern, plain)
                self.assertIsNone(found, f"{name}: {found and plain[max(0, found.start() - 40) : found.end() + 40]!r}")


if __name__ == "__main__":
    sys.exit(results.run(Makefiles, Searches, Parameters, Documents))
