//! What `cargo local test` does, in order.

use std::process::Command;

use super::report::Report;
use crate::failure::Done;
use crate::system::{Start, System};
use crate::tools::Tools;
use crate::{cloud, engine, place};

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(place::root());
    cargo
}

/// Form and lints: no warning is let through.
pub fn source(report: &mut Report) -> Done<()> {
    report.check("format", cargo(&["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet"];
    report.check("lints", cargo(&[&lints[..], &["--", "--deny", "warnings"]].concat()))
}

/// What needs no server.
pub fn units(report: &mut Report) -> Done<()> {
    report.tests("unit tests", cargo(&["test", "--workspace", "--lib", "--locked"]))?;
    report.tests("the tool's own tests", cargo(&["test", "-p", "fanfold-local", "--locked"]))
}

pub fn template(report: &mut Report) -> Done<()> {
    let sam = Tools::sam(false)?;
    let mut validate = Command::new(sam.bin("sam"));
    validate.args(["validate", "--lint"]).current_dir(place::root());
    cloud::with_aws(&mut validate, "");
    validate.env_remove("AWS_ENDPOINT_URL").env("SAM_CLI_TELEMETRY", "0");
    report.check("the template (sam validate --lint)", validate)
}

/// What needs the whole system.
pub fn system(report: &mut Report, filter: Option<&str>) -> Done<()> {
    let engine = engine::find(&place::local())?;
    let start = Start {
        quiet: false,
        // messages that fail come back soon, so the tests need not wait for minutes
        parameters: vec![("QueueVisibility", "20".into()), ("QueueTries", "3".into())],
        containers: engine.as_ref().ok().map(|engine| engine.bridge),
        ..Start::default()
    };
    let system = System::start(start)?;
    let sam = Tools::sam(false)?;
    let stack = |arguments: &[&str]| -> Done<Command> {
        let mut test = cargo(&["test", "--locked", "-p", "fanfold-tests", "--test", "stack", "--"]);
        test.args(arguments);
        system.environment(&mut test)?;
        test.env("FANFOLD_CLOUD_TOOLS", system.tools.bin(""));
        test.env("FANFOLD_SAM", sam.bin("sam"));
        if let Ok(engine::Engine { host: Some(host), .. }) = &engine {
            test.env("DOCKER_HOST", host);
        }
        Ok(test)
    };
    if let Some(filter) = filter {
        return report.tests("the stack, in part", stack(&[filter, "--test-threads=1"])?);
    }
    let apart = ["--skip", "serial::", "--skip", "tools::", "--skip", "binaries::"];
    report.tests("the stack", stack(&apart)?)?;
    report.tests("the stack, one by one", stack(&["serial::", "--test-threads=1"])?)?;
    report.tests("binaries", stack(&["binaries::", "--test-threads=1", "--show-output"])?)?;
    let tools = ["tools::", "--skip", "sam_local", "--test-threads=1"];
    report.tests("the tools", stack(&tools)?)?;
    match &engine {
        Ok(_) => report.tests("sam local", stack(&["sam_local", "--test-threads=1"])?),
        Err(why) => {
            report.skip("sam local", why);
            Ok(())
        }
    }
}
