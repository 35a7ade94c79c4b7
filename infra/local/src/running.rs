//! The system that `cargo local` runs in another window.

use std::time::Duration;

use serde_json::Value;

use crate::cognito::UserPool;
use crate::failure::{Done, failure};
use crate::{http, place};

/// And a little longer.
const FUNCTION_LIVES: Duration = Duration::from_secs(90);

pub struct Running(Value);

impl Running {
    pub fn find() -> Done<Self> {
        let state = std::fs::read_to_string(place::state_file()).map_err(|_| not_running())?;
        serde_json::from_str(&state).map(Self).map_err(|_| not_running())
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

    /// What a function answers, an error of its own included; `output` is the stack's that names it.
    pub fn invoke(&self, output: &str, event: &Value) -> Done<Value> {
        let (endpoint, function) = (self.text("/endpoint")?, self.output(output)?);
        let url = format!("{endpoint}/2015-03-31/functions/{function}/invocations");
        match http::call_within(FUNCTION_LIVES, "POST", &url, &[], Some(event))? {
            (200, answer) => Ok(answer),
            (status, answer) => Err(failure(format!("{function}: {status} {answer}"))),
        }
    }
}

fn not_running() -> crate::failure::Failure {
    failure("no system is running here: start one with `cargo local`")
}
