//! Checks that read: the source's form, the templates, the dependencies.

use std::process::Command;

use super::report::Report;
use super::steps::cargo;
use crate::failure::Done;
use crate::tools::{Tools, cargo_tool};
use crate::{cloud, place};

/// Form and lints: no warning is let through.
pub fn source(report: &mut Report) -> Done<()> {
    report.check("format", cargo(&["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet"];
    report.check("lints", cargo(&[&lints[..], &["--", "--deny", "warnings"]].concat()))
}

fn here(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(place::root());
    command
}

/// Whether the templates are what CloudFormation takes, and what a careful reviewer would let pass.
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
    report.check("security of the templates (checkov)", scan)?;
    let cloud = Tools::cloud(false)?;
    report.tests("the translated template", python(&cloud, "test_template.py"))?;
    report.tests("texts for operators", python(&cloud, "test_texts.py"))
}

/// Tests in Python, which print their results as cargo does. Nothing of the caller's AWS settings reaches
/// them.
pub fn python(tools: &Tools, tests: &str) -> Command {
    let mut python = tools.python();
    python.arg(place::script(tests)).current_dir(place::root());
    cloud::with_aws(&mut python, "");
    python.env_remove("AWS_ENDPOINT_URL").env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

/// Whether dependencies are licensed, known, without a second TLS stack, and needed.
pub fn dependencies(report: &mut Report) -> Done<()> {
    let unused = cargo_tool("cargo-machete", "0.9.2")?;
    report.check("unused dependencies (cargo-machete)", here(unused, &["--with-metadata"]))?;
    let deny = cargo_tool("cargo-deny", "0.20.2")?;
    let kinds = ["--locked", "check", "bans", "licenses", "sources"];
    report.check("dependencies (cargo-deny)", here(&deny, &kinds))?;
    let mut fetch = here(&deny, &["--locked", "fetch", "db"]);
    let fetched = fetch.output().is_ok_and(|output| output.status.success());
    if !fetched {
        let why = "the database of advisories cannot be fetched from github.com";
        report.skip("known vulnerabilities (cargo-deny)", why);
        return Ok(());
    }
    let advisories = ["--locked", "check", "--disable-fetch", "advisories"];
    report.check("known vulnerabilities (cargo-deny)", here(&deny, &advisories))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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

    /// What the templates call functions and queues is what alarms and the dashboard look at.
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
