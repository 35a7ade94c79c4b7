//! The system that runs on this machine: the one of `cargo local exec` around this command, or that of `cargo local`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::base::failure::{Done, Failure, failure};
use crate::base::{http, place, process};
use crate::operate::cognito::UserPool;

/// The variable with the path of the state file of the system that `cargo local exec` started.
pub const STATE: &str = "FANFOLD_STATE";
/// The time limit of an invocation. No function may run for as long.
const FUNCTION_LIVES: Duration = Duration::from_secs(90);

/// The file with the state of the system.
pub fn state_file() -> PathBuf {
    std::env::var_os(STATE).map_or_else(place::state_file, Into::into)
}

/// Removes the state of this process's system. The state of another system, which began later, stays.
pub fn forget(file: &Path) {
    let state = std::fs::read_to_string(file).unwrap_or_default();
    let pid = serde_json::from_str(&state).ok().and_then(|state: Value| pid_of(&state));
    if pid.is_some_and(|pid| u32::try_from(pid) == Ok(std::process::id())) {
        // one that is not there is what we want
        let _gone = std::fs::remove_file(file);
    }
}

fn pid_of(state: &Value) -> Option<i32> {
    state.get("pid").and_then(Value::as_i64)?.try_into().ok()
}

pub struct Running(Value);

impl Running {
    pub fn find() -> Done<Self> {
        let state = std::fs::read_to_string(state_file()).map_err(|_| not_running())?;
        let state: Value = serde_json::from_str(&state).map_err(|_| not_running())?;
        // a system that was killed leaves its state behind
        let pid = pid_of(&state);
        if pid.is_some_and(process::is_running) { Ok(Self(state)) } else { Err(not_running()) }
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
    failure("no system is running on this machine; start one with `cargo local`")
}

#[cfg(test)]
mod tests {
    use super::forget;

    #[test]
    fn only_the_state_of_this_process_is_removed() {
        let own = std::process::id();
        let file = std::env::temp_dir().join(format!("fanfold-state-{own}.json"));
        for (pid, stays) in [(1, true), (own, false)] {
            std::fs::write(&file, format!("{{\"pid\": {pid}}}")).unwrap();
            forget(&file);
            assert_eq!(file.exists(), stays, "{pid}");
        }
    }
}
