//! Clients that other languages generate from the API's description: generated, type-checked, and used with the deployed
//! stack by the programs in `tests/clients`.

use std::path::PathBuf;
use std::process::Command;

use super::deployed::Deployed;
use super::report::Report;
use crate::base::failure::{Doing as _, Done, failure};
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
    let (sources, (guide, _)) = (node.copy(&sources())?, guide()?);
    let shown = code(&guide, "ts");
    let copy = sources.join("guide.mts");
    std::fs::write(&copy, &shown).doing(copy.display())?;
    let mut generate = node.program("openapi-typescript");
    generate.arg(description(deployed)).arg("--output").arg(sources.join("fanfold.d.ts"));
    report.check("the TypeScript client: generated (openapi-typescript)", generate)?;
    let mut types = node.program("tsc");
    types.arg("--project").arg(&sources);
    report.check("the TypeScript client: types (tsc)", types)?;
    let users = ["typescript-0", "typescript-1"];
    let calls = with_stack(node.run(sources.join("client.ts")), deployed, users)?;
    report.check("the TypeScript client: calls", calls)?;
    // as somebody does who follows the guide, with the pinned packages instead of the newest ones
    let project = node.project("guide-project")?;
    let file = project.join("hello.mts");
    std::fs::write(&file, shown).doing(file.display())?;
    let script = code(&guide, "sh").replace("npm install ", "npm ls ");
    let follow = as_user(node.shell(&project, &script)?, deployed, users[0])?;
    report.check("the TypeScript program of the guide, in a new project", follow)
}

/// Tells a program of the guide the address of the API, and the token of a user who has a profile.
fn as_user(mut program: Command, deployed: &Deployed, user: &str) -> Done<Command> {
    let token = deployed.system.user_pool()?.token(user)?;
    program.env("URL", &deployed.system.servers.url).env("TOKEN", token);
    Ok(program)
}

fn python(report: &mut Report, deployed: &Deployed, tools: &Tools) -> Done<()> {
    let (program, client) = (sources().join("client.py"), place::local().join("python-client"));
    let shown = place::local().join("guide.py");
    std::fs::write(&shown, code(&guide()?.1, "python")).doing(shown.display())?;
    let mut generate = Command::new(tools.bin("openapi-python-client"));
    generate.args(["generate", "--overwrite", "--fail-on-warning", "--url"]);
    // it formats the client with ruff
    generate.arg(description(deployed)).arg("--output-path").arg(&client).env("PATH", tools.path());
    report.check("the Python client: generated (openapi-python-client)", generate)?;
    let mut types = tools.python();
    types.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(place::local().join("mypy"));
    types.arg(&program).arg(&shown).env("MYPYPATH", &client);
    report.check("the Python client: types (mypy)", types)?;
    let mut calls = tools.python();
    calls.arg(&program).env("PYTHONPATH", &client);
    let users = ["python-0", "python-1"];
    report.check("the Python client: calls", with_stack(calls, deployed, users)?)?;
    let mut follow = tools.python();
    follow.arg(&shown).env("PYTHONPATH", &client);
    report.check("the Python program of the guide", as_user(follow, deployed, users[0])?)
}

/// The section of the guide on clients: what it says about TypeScript, and about Python.
fn guide() -> Done<(String, String)> {
    let file = place::root().join("shared/web/guide/start.md");
    let text = std::fs::read_to_string(&file).doing(file.display())?;
    let section = text.split("\n## Clients").nth(1).and_then(|rest| rest.split("\n## ").next());
    let halves = section.and_then(|section| section.split_once("\nFor Python"));
    let (typescript, python) =
        halves.ok_or_else(|| failure("the guide has no section on clients"))?;
    Ok((typescript.to_owned(), python.to_owned()))
}

/// The blocks of code of a language, joined.
fn code(text: &str, language: &str) -> String {
    let begin = format!("```{language}\n");
    let blocks = text.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.collect()
}
