//! The systems that `cargo local` runs on this machine. Inside `cargo local exec`, its system is the only one.
//!
//! Each has a folder, named after the port of its API, with a file that it keeps locked as long as it lives: a system that
//! was killed leaves its file behind, but not the lock.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::base::failure::{Doing as _, Done, Failure, failure};
use crate::base::{http, place};
use crate::operate::cognito::UserPool;

/// The variable with the folder of the systems that commands find.
pub const RUNS: &str = "FANFOLD_RUNS";
/// The state of a system, in its folder.
const STATE: &str = "state.json";
/// The time limit of an invocation. No function may run for as long.
const FUNCTION_LIVES: Duration = Duration::from_secs(90);

/// Which of the running systems a command is for.
#[derive(clap::Args)]
pub struct Here {
    /// The port of the API of the running system, if several are running
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

/// The folder of the systems that commands find.
pub fn runs() -> PathBuf {
    std::env::var_os(RUNS).map_or_else(place::runs, Into::into)
}

/// A system that other commands find until this is dropped.
pub struct Run {
    folder: PathBuf,
    _lock: File,
}

impl Run {
    /// Lets other commands find this process's system, whose API has the port.
    pub fn begin(runs: &Path, port: u16, state: &Value) -> Done<Self> {
        let folder = runs.join(port.to_string());
        std::fs::create_dir_all(&folder).doing(folder.display())?;
        // nobody sees the file without its lock and its content
        let unseen = folder.join("state.new");
        let mut file = File::create(&unseen).doing(unseen.display())?;
        file.lock().doing(unseen.display())?;
        file.write_all(state.to_string().as_bytes()).doing(unseen.display())?;
        std::fs::rename(&unseen, folder.join(STATE)).doing(unseen.display())?;
        Ok(Self { folder, _lock: file })
    }

    /// The folder for files about this system. It ends with the system.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // what is left has no lock, so no command finds it
        let _kept = std::fs::remove_dir_all(&self.folder);
    }
}

/// The states of the systems that run, by the ports of their APIs.
fn running(runs: &Path) -> BTreeMap<u16, Value> {
    let folders = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let state = |folder: std::fs::DirEntry| {
        let port = folder.file_name().to_str()?.parse().ok()?;
        let file = File::open(folder.path().join(STATE)).ok()?;
        // shared, so that two commands that look at the same time do not take each other for a system
        let is_alive = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let state = is_alive.then(|| serde_json::from_reader(&file).ok()).flatten()?;
        Some((port, state))
    };
    folders.filter_map(state).collect()
}

/// The system with this port, or the only one.
fn choose(mut running: BTreeMap<u16, Value>, port: Option<u16>) -> Done<Value> {
    let ports: Vec<String> = running.keys().map(u16::to_string).collect();
    let ports = ports.join(", ");
    match port {
        _ if running.is_empty() => Err(not_running()),
        Some(port) => running.remove(&port).ok_or_else(|| {
            failure(format!("no system is running on port {port}; --port can be {ports}"))
        }),
        None if running.len() > 1 => Err(failure(format!(
            "several systems are running; choose one with --port, which can be {ports}"
        ))),
        None => running.pop_first().map(|(_, state)| state).ok_or_else(not_running),
    }
}

pub struct Running(Value);

impl Running {
    pub fn find(here: &Here) -> Done<Self> {
        choose(running(&runs()), here.port).map(Self)
    }

    fn text(&self, pointer: &str) -> Done<&str> {
        self.0.pointer(pointer).and_then(Value::as_str).ok_or_else(not_running)
    }

    pub fn output(&self, name: &str) -> Done<&str> {
        self.text(&format!("/outputs/{name}"))
    }

    pub fn user_pool(&self) -> Done<UserPool<'_>> {
        Ok(UserPool {
            endpoint: self.text("/endpoint")?,
            pool: self.output("UserPoolId")?,
            client: self.output("UserPoolClientId")?,
        })
    }

    /// Invokes the function that this output of the stack names, and returns its answer, which may be an error.
    pub fn invoke(&self, output: &str, event: &Value) -> Done<Value> {
        let (endpoint, function) = (self.text("/endpoint")?, self.output(output)?);
        let url = format!("{endpoint}/2015-03-31/functions/{function}/invocations");
        match http::call_within(FUNCTION_LIVES, "POST", &url, &[], Some(event))? {
            (200, answer) => Ok(answer),
            (status, answer) => Err(failure(format!("{function}: {status} {answer}"))),
        }
    }
}

fn not_running() -> Failure {
    failure("no system is running from this folder; start one with `cargo local`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_find_the_systems_that_live() {
        let runs = std::env::temp_dir().join(format!("fanfold-runs-{}", std::process::id()));
        let of = |port| json!({"url": format!("http://localhost:{port}")});
        let find = |port| choose(running(&runs), port).map_err(|error| error.to_string());
        assert!(find(None).unwrap_err().contains("no system is running"));
        let first = Run::begin(&runs, 4270, &of(4270)).unwrap();
        assert_eq!(find(None), Ok(of(4270)));
        let second = Run::begin(&runs, 4271, &of(4271)).unwrap();
        let said = find(None).unwrap_err();
        assert!(said.contains("--port") && said.contains("4270, 4271"), "{said}");
        assert_eq!((find(Some(4270)), find(Some(4271))), (Ok(of(4270)), Ok(of(4271))));
        assert!(find(Some(1)).unwrap_err().contains("on port 1; --port can be 4270, 4271"));
        // the newest one ends
        drop(second);
        assert_eq!(find(None), Ok(of(4270)));
        // a system that was killed left its file, and one with the same port begins
        let killed = runs.join("4272");
        std::fs::create_dir_all(&killed).unwrap();
        std::fs::write(killed.join(STATE), of(4272).to_string()).unwrap();
        assert_eq!(find(None), Ok(of(4270)));
        let again = Run::begin(&runs, 4272, &of(0)).unwrap();
        assert_eq!(find(Some(4272)), Ok(of(0)));
        drop((first, again));
        assert!(find(None).is_err());
        std::fs::remove_dir_all(runs).unwrap();
    }
}
