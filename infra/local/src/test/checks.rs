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
    let templates = ["template", "network", "cache", "alarms", "dashboard"];
    let templates = templates.map(|name| format!("infra/{name}.yaml"));
    let mut lint = here(sam.bin("cfn-lint"), &["--regions", "us-east-1", "eu-central-1", "--"]);
    lint.args(templates);
    report.check("all templates (cfn-lint)", lint)?;
    let scan = here(checks.bin("checkov"), &["--config-file", ".checkov.yaml"]);
    report.check("security of the templates (checkov)", scan)
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
