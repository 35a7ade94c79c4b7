//! Clients that other languages generate from the API's description: generated, type-checked, and used with the deployed
//! stack.

use std::process::Command;

use super::deployed::Deployed;
use super::report::Report;
use crate::base::failure::Done;
use crate::base::node::Node;
use crate::base::place;

/// The filter that selects the clients.
pub const CLIENTS: &str = "clients";
/// The users of the clients.
const USERS: [&str; 2] = ["client-0", "client-1"];

/// The clients, with a stack of their own.
pub fn alone(report: &mut Report) -> Done<()> {
    check(report, &Deployed::start(false)?)
}

/// Generates each client from the description that the stack serves, checks its types, and makes the calls of its program in
/// `tests/clients`.
pub fn check(report: &mut Report, deployed: &Deployed) -> Done<()> {
    let pool = deployed.system.user_pool()?;
    let tokens = USERS.iter().map(|name| pool.token(name)).collect::<Done<Vec<_>>>()?.join(" ");
    let url = &deployed.system.servers.url;
    let with_stack = |mut command: Command| {
        command.env("FANFOLD_URL", url).env("FANFOLD_TOKENS", &tokens);
        command
    };
    let node = Node::install(false)?;
    let sources = node.copy(&place::root().join("tests/clients"))?;
    let mut generate = node.program("openapi-typescript");
    generate.arg(format!("{url}/openapi.json")).arg("--output").arg(sources.join("fanfold.d.ts"));
    report.check("the TypeScript client: generated (openapi-typescript)", generate)?;
    let mut types = node.program("tsc");
    types.arg("--project").arg(&sources);
    report.check("the TypeScript client: types (tsc)", types)?;
    let calls = with_stack(node.run(sources.join("client.ts")));
    report.check("the TypeScript client: calls", calls)
}
