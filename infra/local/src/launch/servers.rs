//! Valkey and the local cloud, without a stack. Dropping them stops both.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::failure::{Doing as _, Done};
use crate::base::place;
use crate::base::process::{self, Running};
use crate::base::progress::step;
use crate::base::tools::Tools;
use crate::launch::{Up, cloud, forward, ports, valkey};
use crate::operate::RUNS;

pub struct Servers {
    /// The URL of the AWS services.
    pub endpoint: String,
    /// The URL of the deployed API.
    pub url: String,
    /// Its port.
    pub port: u16,
    pub redis_url: String,
    pub valkey_port: u16,
    pub tools: Tools,
    /// The address at which containers can connect, if they may.
    pub containers: Option<IpAddr>,
    valkey_program: PathBuf,
    valkey: Running,
    pub cloud: Running,
    /// Below the cloud: fields are dropped in this order, and the cloud must have ended.
    _temporary: Temporary,
    folder: PathBuf,
}

/// A folder that is removed on drop.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // one that cannot be removed does no harm: a later run removes it
        let _kept = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts a server, and once more if that fails and `may` is true: another program may take a free port before the
/// server does.
fn again_if<T>(may: bool, start: impl Fn() -> Done<T>) -> Done<T> {
    match start() {
        Err(_) if may && !process::interrupted() => start(),
        started => started,
    }
}

impl Servers {
    /// Starts both servers and waits until they answer.
    pub fn start(tools: Tools, up: &Up, quiet: bool) -> Done<Self> {
        // several may run at once: each has a folder for its logs and settings
        let folder = place::local().join(format!("run-{}", std::process::id()));
        forget_ended_runs();
        std::fs::create_dir_all(&folder).doing(folder.display())?;
        let temporary = Temporary(folder.join("tmp"));
        std::fs::create_dir_all(&temporary.0).doing(temporary.0.display())?;
        let valkey_program = valkey::program(&tools)?;
        let (valkey_port, valkey) = again_if(up.valkey_port.is_none(), || {
            let port = ports::choose(up.valkey_port, "--valkey-port")?;
            let log = folder.join("valkey.log");
            let start = || valkey::start(&valkey_program, port, &log);
            Ok((port, step(quiet, &format!("starting Valkey on port {port}"), start)?))
        })?;
        let (aws, api, cloud) = again_if(up.aws_port.is_none() || up.port.is_none(), || {
            let aws = ports::choose(up.aws_port, "--aws-port")?;
            let api = ports::choose_api(up.port, &[aws])?;
            let (ports, log) = (cloud::Ports { aws, api }, folder.join("cloud.log"));
            let start = || cloud::start(&tools, ports, &log, &temporary.0);
            Ok((aws, api, step(quiet, &format!("starting the local cloud on port {aws}"), start)?))
        })?;
        if let Some(address) = up.containers {
            forward::start(address, valkey_port, "--valkey-port")?;
            forward::start(address, aws, "--aws-port")?;
        }
        Ok(Self {
            endpoint: format!("http://127.0.0.1:{aws}"),
            url: format!("http://localhost:{api}"),
            port: api,
            redis_url: format!("redis://127.0.0.1:{valkey_port}"),
            valkey_port,
            tools,
            containers: up.containers,
            valkey_program,
            valkey,
            cloud,
            _temporary: temporary,
            folder,
        })
    }

    /// The folder of this run's logs and settings.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds the addresses of the servers, and the credentials for them, to a command's environment.
    pub fn environment(&self, command: &mut Command) -> Done<()> {
        cloud::with_aws(command, &self.endpoint);
        // the command must not find the system of an outer `cargo local exec`
        command.env_remove(RUNS);
        command.env("REDIS_URL", &self.redis_url);
        command.env("FANFOLD_VALKEY", &self.valkey_program);
        command.env("FANFOLD_VALKEY_USER", valkey::user()?);
        Ok(())
    }

    /// The server that has ended by itself, with its log. `None` if both run.
    pub fn ended(&mut self) -> Option<String> {
        let servers = [("Valkey", &mut self.valkey), ("the local cloud", &mut self.cloud)];
        for (name, server) in servers {
            if server.ended() {
                return Some(format!("{name} has ended; its log is {}", server.log().display()));
            }
        }
        None
    }
}

/// Fails if a requested port is not free, or is requested twice. Called before the build, which takes minutes.
pub fn check_ports(up: &Up) -> Done<()> {
    ports::check_distinct(&[
        ("--port", up.port),
        ("--aws-port", up.aws_port),
        ("--valkey-port", up.valkey_port),
    ])?;
    if up.port.is_some() {
        ports::choose_api(up.port, &[])?;
    }
    ports::choose(up.aws_port, "--aws-port")?;
    ports::choose(up.valkey_port, "--valkey-port")?;
    Ok(())
}

/// Removes the folders of systems that have ended.
fn forget_ended_runs() {
    for entry in std::fs::read_dir(place::local()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("run-").and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !process::is_running(pid)) {
            // a folder that cannot be removed does no harm
            let _kept = std::fs::remove_dir_all(entry.path());
        }
    }
}
