//! The system that `cargo local` runs in another window.

use serde_json::Value;

use crate::cognito::UserPool;
use crate::failure::{Done, failure};
use crate::{cloud, place};

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

    pub fn sqs(&self, operation: &str, body: &Value) -> Done<Value> {
        cloud::call(self.text("/endpoint")?, &format!("AmazonSQS.{operation}"), "1.0", body)
    }
}

fn not_running() -> crate::failure::Failure {
    failure("no system is running here: start one with `cargo local`")
}
