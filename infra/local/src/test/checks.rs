//! Checks without servers: format, lints, templates, dependencies, and other platforms.

use std::process::Command;

use super::cargo::{STACK, UNITS, cargo};
use super::report::Report;
use crate::base::failure::Done;
use crate::base::place;
use crate::base::tools::{FOLDERS, Tools, cargo_tool};
use crate::bench;
use crate::launch::build::{self, Build};
use crate::launch::cloud;

/// Checks the format, and builds everything that the tests run with clippy's compiler. A warning is a failure; then the tests
/// are built without lints.
pub fn source(report: &mut Report) -> Done<()> {
    report.check("format", cargo(&["fmt", "--all", "--check"]))?;
    let failures = report.failures();
    build::set_linted(true);
    let tool = ["build", "--locked", "-p", "fanfold-local", "--bin", "fanfold-local"];
    let units = [&UNITS[..], &["--no-run"]].concat();
    let tests = [&STACK[..], &["--no-run"]].concat();
    for (name, build) in [
        ("lints, and the build of the tool", cargo(&tool)),
        ("lints, and the build of unit tests", cargo(&units)),
        ("lints, and the build of the stack's tests", cargo(&tests)),
        ("lints, and the build of the benches", bench::build()),
        ("lints, and the build of the functions", Build::development()),
    ] {
        report.check(name, build)?;
    }
    build::set_linted(report.failures() == failures);
    Ok(())
}

fn here(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(place::root());
    command
}

/// Checks that CloudFormation would accept the templates, and that they are secure.
pub fn templates(report: &mut Report) -> Done<()> {
    let (sam, checks) = (Tools::sam(false)?, Tools::checks(false)?);
    let mut validate = here(sam.bin("sam"), &["validate", "--lint"]);
    cloud::with_aws(&mut validate, "");
    validate.env_remove("AWS_ENDPOINT_URL").env("SAM_CLI_TELEMETRY", "0");
    report.check("the template (sam validate --lint)", validate)?;
    let templates = ["template", "names", "network", "cache", "alarms", "dashboard"];
    let templates = templates.map(|name| format!("infra/{name}.yaml"));
    let mut lint = here(sam.bin("cfn-lint"), &["--regions", "us-east-1", "eu-central-1", "--"]);
    lint.args(templates);
    report.check("all templates (cfn-lint)", lint)?;
    let scan = here(checks.bin("checkov"), &["--config-file", ".checkov.yaml"]);
    report.check("security of the templates (checkov)", scan)
}

/// Tests the template as the local cloud translates it, the documents, and the port of the API.
pub fn documents(report: &mut Report) -> Done<()> {
    let cloud = Tools::cloud(false)?;
    report.tests("the translated template", python(&cloud, "test_template.py"))?;
    report.tests("makefiles and documents", python(&cloud, "test_texts.py"))?;
    report.tests("the API's port", python(&cloud, "test_front.py"))
}

/// Tests in Python, which print their results as cargo does. The caller's AWS settings are hidden from them.
pub fn python(tools: &Tools, tests: &str) -> Command {
    let mut python = tools.python();
    python.arg(place::script(tests)).current_dir(place::root());
    cloud::with_aws(&mut python, "");
    python.env_remove("AWS_ENDPOINT_URL");
    python
}

/// Checks that no dependency has a known vulnerability. (Unit tests of this tool check what needs no network: licences,
/// sources, the one TLS stack, and that each dependency is used.)
pub fn vulnerabilities(report: &mut Report) -> Done<()> {
    let name = "known vulnerabilities (cargo-deny)";
    // before the tool is built, which takes minutes
    let mut database = here("git", &["ls-remote", "--exit-code", ADVISORIES, "HEAD"]);
    database.env("GIT_TERMINAL_PROMPT", "0");
    if !database.output().is_ok_and(|output| output.status.success()) {
        report.skip(name, "the database of advisories cannot be fetched from github.com");
        return Ok(());
    }
    report.check(name, here(cargo_tool("cargo-deny", "0.20.2")?, &["--locked", "check"]))
}

/// The database that cargo-deny uses.
const ADVISORIES: &str = "https://github.com/rustsec/advisory-db";

/// Checks that the tool compiles on macOS. (The code depends on the system, and not on the processor.)
pub fn macos(report: &mut Report) -> Done<()> {
    let (name, target) = ("the tool on macOS (cargo check)", "aarch64-apple-darwin");
    let check = ["check", "--locked", "-p", "fanfold-local", "--quiet", "--target", target];
    match has_target(target) {
        true => report.check(name, cargo(&check)),
        false => {
            report.skip(name, &no_target(target));
            Ok(())
        }
    }
}

/// Checks that the Python packages exist for every platform.
pub fn packages(report: &mut Report) -> Done<()> {
    let mut pins = python(&Tools::checks(false)?, "test_pins.py");
    let uv = Tools::uv(false)?;
    // packages in folders of this machine prove nothing for others
    let sources = uv.uv_sources()?.into_iter().filter(|(variable, _)| *variable != FOLDERS);
    pins.env("FANFOLD_UV", uv.bin("uv")).envs(sources);
    report.check_if_possible("Python packages for every platform", pins)
}

/// Whether the compiler has the standard library of a target.
pub fn has_target(target: &str) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]);
    let folder = rustc.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    folder.is_ok_and(|folder| std::path::Path::new(folder.trim()).is_dir())
}

/// The reason for skipping what needs a target.
pub fn no_target(target: &str) -> String {
    format!("its standard library is not installed: rustup target add {target}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::place;

    fn text(file: &str) -> String {
        std::fs::read_to_string(place::root().join("infra").join(file)).unwrap()
    }

    /// The kind that an alarm's description names, which its name begins with.
    fn kinds(template: &str) -> BTreeSet<String> {
        let field = |line: &str, name: &str| line.trim().strip_prefix(name).map(str::to_owned);
        let lines: Vec<&str> = template.lines().collect();
        let alarms = lines.windows(2).filter_map(|pair| {
            let name = field(pair[0], "AlarmName: !Sub ")?;
            let said = field(pair[1], "AlarmDescription: ").unwrap();
            let kind = said.trim_end_matches('.').rsplit(' ').next().unwrap().to_owned();
            assert!(name.contains(&format!("}}-{kind}")), "{name} is of another kind than {kind}");
            Some(kind)
        });
        alarms.collect()
    }

    fn manifest(folder: &Path) -> toml::Table {
        let file = folder.join("Cargo.toml");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|why| panic!("{file:?}: {why}"));
        text.parse().unwrap()
    }

    /// The code in a folder without its comments.
    fn code(folder: &Path) -> String {
        let mut all = String::new();
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                all.push_str(&code(&entry));
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&entry).unwrap();
                let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                lines.for_each(|line| all.extend([line, "\n"]));
            }
        }
        all
    }

    /// Whether the code has a path that begins with the name of a crate, or imports it.
    fn names_crate(code: &str, name: &str) -> bool {
        let name = name.replace('-', "_");
        code.match_indices(&name).any(|(at, _)| {
            let (before, after) = (&code[..at], &code[at + name.len()..]);
            let continues = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            (!before.ends_with(continues) && after.starts_with("::"))
                || (before.ends_with("use ") && after.starts_with([';', ' ']))
        })
    }

    #[test]
    fn every_dependency_is_used() {
        let root = manifest(place::root());
        let members = ["functions", "infra/local", "tests"].map(|name| place::root().join(name));
        let shared = std::fs::read_dir(place::root().join("shared")).unwrap();
        let members = members.into_iter().chain(shared.map(|entry| entry.unwrap().path()));
        let (mut unused, mut known, mut crates) = (Vec::new(), BTreeSet::new(), 0);
        for folder in members {
            let (manifest, code) = (manifest(&folder), code(&folder));
            let targets = manifest.get("target").and_then(toml::Value::as_table);
            let targets = targets.into_iter().flat_map(|targets| targets.values());
            for table in targets.filter_map(toml::Value::as_table).chain([&manifest]) {
                for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
                    for (name, options) in
                        table.get(kind).and_then(|all| all.as_table()).into_iter().flatten()
                    {
                        known.insert(name.clone());
                        crates += 1;
                        // an optional one is there for its features
                        let optional = options.get("optional").and_then(toml::Value::as_bool);
                        if optional != Some(true) && !names_crate(&code, name) {
                            unused.push(format!("{name} in {}", folder.display()));
                        }
                    }
                }
            }
        }
        let shared = root["workspace"]["dependencies"].as_table().unwrap().keys();
        unused.extend(
            shared
                .filter(|name| !known.contains(*name))
                .map(|name| format!("{name} in Cargo.toml")),
        );
        assert!(unused.is_empty() && crates > 80, "not used: {unused:?} of {crates}");
    }

    /// What cargo-deny checks, too, without its database and the minutes that its build takes.
    #[test]
    fn dependencies_have_known_licences_and_sources_and_one_tls_stack() {
        let rules: toml::Table =
            std::fs::read_to_string(place::root().join("deny.toml")).unwrap().parse().unwrap();
        let strings = |list: &toml::Value, name: Option<&str>| -> BTreeSet<String> {
            let list = list.as_array().unwrap().iter();
            let text = list.map(|one| name.map_or(one, |name| &one[name]).as_str().unwrap());
            text.map(str::to_owned).collect()
        };
        let allowed = strings(&rules["licenses"]["allow"], None);
        let denied = strings(&rules["bans"]["deny"], Some("crate"));
        let mut tree = std::process::Command::new("cargo");
        tree.args(["tree", "--workspace", "--locked", "--edges", "normal,build"]);
        tree.args(["--prefix", "none", "--format", "{p}|{l}"]);
        for target in strings(&rules["graph"]["targets"], None) {
            tree.args(["--target", &target]);
        }
        let tree = tree.current_dir(place::root()).output().unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let (mut wrong, mut count) = (Vec::new(), 0);
        for line in tree.lines().filter(|line| !line.is_empty()) {
            // a name, a version, and the source if it is not crates.io: a folder of this workspace, or another one
            let (package, licence) = line.trim_end_matches(" (*)").split_once('|').unwrap();
            let (name, rest) = package.split_once(" v").unwrap();
            let (version, source) = rest.split_once(' ').unwrap_or((rest, ""));
            if name.starts_with("fanfold-") {
                continue;
            }
            let is_macro = source == "(proc-macro)";
            let is_denied = |rule: &String| {
                let (of, from) = rule.split_once('@').unwrap_or((rule, ""));
                of == name && version.starts_with(from)
            };
            let licence = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX).unwrap();
            let is_allowed = licence
                .evaluate(|one| one.license.id().is_some_and(|id| allowed.contains(id.name)));
            if !is_allowed || !(source.is_empty() || is_macro) || denied.iter().any(is_denied) {
                wrong.push(line);
            }
            count += 1;
        }
        assert!(wrong.is_empty() && count > 200, "of {count}: {wrong:#?}");
    }

    #[test]
    fn a_crate_is_used_by_its_own_name_alone() {
        let code = "use http;\nlet a = serde_json::json!(1);\nx.http::<u8>();\nmod::tokio::x";
        let used =
            ["http", "serde-json", "serde", "json", "tokio"].map(|name| names_crate(code, name));
        assert_eq!(used, [true, true, false, false, false]);
    }

    #[test]
    fn every_alarm_has_an_entry_in_the_runbook_and_every_entry_an_alarm() {
        let mut alarms = kinds(&text("alarms.yaml"));
        alarms.extend(kinds(&text("template.yaml")));
        let runbook = text("RUNBOOK.md");
        let entries = runbook.lines().filter_map(|line| line.strip_prefix("## "));
        let entries: BTreeSet<_> =
            entries.filter(|entry| !entry.contains(' ')).map(str::to_owned).collect();
        assert_eq!(alarms, entries);
        assert!(alarms.len() > 10);
    }

    /// Alarms and the dashboard use the names that the template gives to functions and queues.
    #[test]
    fn alarms_and_the_dashboard_name_what_there_is() {
        let template = text("template.yaml");
        let names = |text: &str, before: &str| -> BTreeSet<String> {
            let found = text.split(before).skip(1);
            let name = |rest: &str| rest.split(['"', '\\']).next().unwrap_or_default().to_owned();
            found.map(name).collect()
        };
        let mut known = names(&template, "FunctionName: !Sub \"${AWS::StackName}-");
        known.extend(names(&template, "QueueName: !Sub \"${AWS::StackName}-"));
        for (file, before) in
            [("alarms.yaml", "Value: !Sub \"${Name}-"), ("dashboard.yaml", "\", \"${Name}-")]
        {
            let used = names(&text(file), before);
            assert!(!used.is_empty(), "{file}");
            let unknown: Vec<_> = used.difference(&known).collect();
            assert!(unknown.is_empty(), "{file}: {unknown:?} are not in template.yaml: {known:?}");
        }
    }

    #[test]
    fn the_subnets_fit_in_the_smallest_network_that_may_be_asked_for() {
        let number = |text: &str, before: &str| -> u32 {
            let rest = text.split(before).nth(1).expect(before);
            rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().expect(before)
        };
        let smallest = number(&text("template.yaml"), "a prefix from /16 to /");
        let network = text("network.yaml");
        let (subnets, bits) = (
            number(&network, "!Cidr [!Ref VpcCidr, "),
            number(&network, "!Cidr [!Ref VpcCidr, 2, "),
        );
        assert!(subnets << bits <= 1 << (32 - smallest), "{subnets} of {bits} bits in /{smallest}");
    }
}
