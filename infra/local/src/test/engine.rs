//! A container engine for `sam local`: one that already runs, or one that is started for the tests.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::base::failure::{Doing as _, Done};
use crate::base::host;
use crate::base::process::Running;
use crate::base::tools::Tools;

/// An engine that answers. Dropping this stops an engine that was started here.
pub struct Engine {
    /// The value of `DOCKER_HOST`, for an engine that was started here.
    pub host: Option<String>,
    /// The address at which containers reach this machine.
    pub bridge: IpAddr,
    daemon: Option<Running>,
}

/// An engine, or the reason why there is none.
pub fn find(folder: &Path) -> Done<Result<Engine, String>> {
    if !host::IS_LINUX {
        let why = "on macOS, containers run in a virtual machine and cannot reach this machine";
        return Ok(Err(why.to_owned()));
    }
    if answers(None) {
        return Ok(bridge().map(|bridge| Engine { host: None, bridge, daemon: None }));
    }
    if Command::new("dockerd").arg("--version").output().is_err() {
        return Ok(Err("no container engine answers, and dockerd is not installed".to_owned()));
    }
    let home = folder.join("docker");
    std::fs::create_dir_all(&home).doing(home.display())?;
    // the path of a socket has at most 107 characters, which the path of a checkout may exceed
    let socket = std::env::temp_dir().join(format!("fanfold-docker-{}.sock", std::process::id()));
    let host = format!("unix://{}", socket.display());
    let start = Tools::cloud(true)?.with_parent(command(&home, &host));
    let mut daemon = match Running::start("dockerd", start, &folder.join("dockerd.log")) {
        Ok(daemon) => daemon,
        Err(why) => return Ok(Err(why.to_string())),
    };
    if let Err(why) = daemon.ready(Duration::from_secs(30), || answers(Some(&host))) {
        return Ok(Err(format!("no container engine answers, and none can be started: {why}")));
    }
    Ok(bridge().map(|bridge| Engine { host: Some(host), bridge, daemon: Some(daemon) }))
}

fn command(home: &Path, host: &str) -> Command {
    let mut daemon = Command::new("dockerd");
    for (option, folder) in [("--data-root", "data"), ("--exec-root", "exec"), ("--pidfile", "pid")]
    {
        daemon.arg(option).arg(home.join(folder));
    }
    // changes no rule of this machine's network: containers reach this machine only
    daemon.args(["--host", host, "--iptables=false", "--ip6tables=false"]);
    daemon.args(["--ip-forward=false", "--ip-masq=false"]);
    daemon
}

fn answers(host: Option<&str>) -> bool {
    let mut info = Command::new("docker");
    info.arg("info");
    if let Some(host) = host {
        info.env("DOCKER_HOST", host);
    }
    info.output().is_ok_and(|output| output.status.success())
}

/// The address of the bridge that containers are on.
fn bridge() -> Result<IpAddr, String> {
    let why = || "the container engine has no bridge docker0 on this machine".to_owned();
    let show = Command::new("ip").args(["-4", "-oneline", "addr", "show", "docker0"]).output();
    let text = show.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.map_err(|error| format!("ip addr show docker0: {error}"))?;
    let mut words = text.split_whitespace().skip_while(|word| *word != "inet");
    let address = words.nth(1).and_then(|network| network.split('/').next()).ok_or_else(why)?;
    address.parse().map_err(|_| why())
}

impl Drop for Engine {
    fn drop(&mut self) {
        let socket = self.host.as_deref().and_then(|host| host.strip_prefix("unix://"));
        if self.daemon.take().is_some() {
            // the engine leaves its bridge behind
            let _gone = Command::new("ip").args(["link", "delete", "docker0"]).output();
        }
        if let Some(socket) = socket.map(PathBuf::from) {
            let _gone = std::fs::remove_file(socket);
        }
    }
}
