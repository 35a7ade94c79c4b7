//! Clients that other languages generate from the API's description: generated, type-checked, and used with the deployed
//! stack by the programs in `tests/clients`.

use std::path::PathBuf;
use std::process::Command;

use super::deployed::Deployed;
use super::report::Report;
use crate::base::failure::Done;
use crate::base::node::Node;
use crate::base::place;
use crate::base::tools::Tools;

/// The filter that selects the clients.
pub const CLIENTS: &str = "clients";

/// The clients, with a stack of their own.
pub fn alone(report: &mut Report) -> Done<()> {
    check(report, &Deployed::start(false)?)
}

/// Checks the description that the stack serves, and both clients.
pub fn check(report: &mut Report, deployed: &Deployed) -> Done<()> {
    let tools = Tools::clients(false)?;
    let mut valid = Command::new(tools.bin("openapi-spec-validator"));
    valid.arg(place::root().join("shared/web/openapi.json"));
    report.check("the description of the API (openapi-spec-validator)", valid)?;
    typescript(report, deployed)?;
    python(report, deployed, &tools)
}

fn sources() -> PathBuf {
    place::root().join("tests/clients")
}

fn description(deployed: &Deployed) -> String {
    format!("{}/openapi.json", deployed.system.servers.url)
}

/// Tells a program the address of the API, and the tokens of two users.
fn with_stack(mut program: Command, deployed: &Deployed, users: [&str; 2]) -> Done<Command> {
    let pool = deployed.system.user_pool()?;
    let tokens = users.iter().map(|name| pool.token(name)).collect::<Done<Vec<_>>>()?.join(" ");
    program.env("FANFOLD_URL", &deployed.system.servers.url).env("FANFOLD_TOKENS", tokens);
    Ok(program)
}

fn typescript(report: &mut Report, deployed: &Deployed) -> Done<()> {
    let node = Node::install(false)?;
    let sources = node.copy(&sources())?;
    let mut generate = node.program("openapi-typescript");
    generate.arg(description(deployed)).arg("--output").arg(sources.join("fanfold.d.ts"));
    report.check("the TypeScript client: generated (openapi-typescript)", generate)?;
    let mut types = node.program("tsc");
    types.arg("--project").arg(&sources);
    report.check("the TypeScript client: types (tsc)", types)?;
    let users = ["typescript-0", "typescript-1"];
    let calls = with_stack(node.run(sources.join("client.ts")), deployed, users)?;
    report.check("the TypeScript client: calls", calls)
}

fn python(report: &mut Report, deployed: &Deployed, tools: &Tools) -> Done<()> {
    let (program, client) = (sources().join("client.py"), place::local().join("python-client"));
    let mut generate = Command::new(tools.bin("openapi-python-client"));
    generate.args(["generate", "--overwrite", "--fail-on-warning", "--url"]);
    // it formats the client with ruff
    generate.arg(description(deployed)).arg("--output-path").arg(&client).env("PATH", tools.path());
    report.check("the Python client: generated (openapi-python-client)", generate)?;
    let mut types = tools.python();
    types.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(place::local().join("mypy"));
    types.arg(&program).env("MYPYPATH", &client);
    report.check("the Python client: types (mypy)", types)?;
    let mut calls = tools.python();
    calls.arg(&program).env("PYTHONPATH", &client);
    report.check("the Python client: calls", with_stack(calls, deployed, ["python-0", "python-1"])?)
}

#[cfg(test)]
mod tests {
    use super::{place, sources};

    /// The lines of a block of code in a document.
    fn block<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
        let start = format!("```{language}\n");
        let (_, rest) = text.split_once(&start).unwrap_or_else(|| panic!("no {start}"));
        let code = rest.split("```").next().unwrap();
        code.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
    }

    #[test]
    fn the_programs_contain_the_lines_that_the_readme_shows() {
        let readme = std::fs::read_to_string(place::root().join("README.md")).unwrap();
        let (_, clients) = readme.split_once("\n### Clients\n").unwrap();
        for (language, program) in [("ts", "client.ts"), ("python", "client.py")] {
            let text = std::fs::read_to_string(sources().join(program)).unwrap();
            let shown = block(clients, language);
            let missing: Vec<_> = shown.iter().filter(|line| !text.contains(**line)).collect();
            assert!(missing.is_empty() && shown.len() > 3, "{program}: {missing:?}");
        }
    }
}
