//! The whole system: servers, functions and the deployed stack. Dropping it stops all of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::base::failure::{Doing as _, Done, failure};
use crate::base::progress::step;
use crate::base::tools::{self, Tools};
use crate::base::{host, place};
use crate::launch::build::Build;
use crate::launch::servers::{self, Servers};
use crate::launch::{Up, cloud, valkey};
use crate::operate::{Run, UserPool};

pub struct System {
    pub servers: Servers,
    pub outputs: BTreeMap<String, String>,
    /// The binary of the deployed functions.
    pub bootstrap: PathBuf,
}

/// The options with which the system is started.
pub struct Start {
    pub up: Up,
    pub quiet: bool,
    pub build: Build,
    /// Parameters of the template, beside those that name this machine's servers.
    pub parameters: Vec<(&'static str, String)>,
}

impl System {
    /// Builds the functions, starts the servers and deploys the template.
    pub fn start(start: Start) -> Done<Self> {
        let Start { up, quiet, build, mut parameters } = start;
        servers::check_ports(&up)?;
        tools::check_python()?;
        let (tools, bootstrap) = std::thread::scope(|scope| {
            // needs the network more than the processor, so it goes on beside the build
            let tools = scope.spawn(|| Tools::cloud(quiet));
            let bootstrap = step(quiet, "building the functions", || build.run(quiet));
            let tools =
                tools.join().unwrap_or_else(|_| Err(failure("installing the tools failed")));
            Ok((tools?, bootstrap?))
        })?;
        let servers = Servers::start(tools, &up, quiet)?;
        let user = format!("redis://{}@127.0.0.1:{}", valkey::USER, servers.valkey_port);
        parameters.push(("ValkeyUrl", user));
        parameters.push(("Architecture", host::lambda_architecture().to_owned()));
        // each running function is a process on this machine, which has few cores
        parameters.push(("FanOutAtOnce", "5".to_owned()));
        // a like is seen in the rankings soon
        parameters.push(("RankingSeconds", "5".to_owned()));
        parameters.push(("PublicDays", "30".to_owned()));
        let outputs = step(quiet, "deploying infra/template.yaml", || {
            cloud::deploy(&servers.tools, &servers.endpoint, &bootstrap, &parameters)
        })?;
        let system = Self { servers, outputs, bootstrap };
        cloud::serve_api(&system.servers.cloud, system.output("ApiId")?)?;
        Ok(system)
    }

    /// An output of the stack.
    pub fn output(&self, name: &str) -> Done<&str> {
        let value = self.outputs.get(name).map(String::as_str);
        value.ok_or_else(|| failure(format!("the stack has no output {name}")))
    }

    pub fn user_pool(&self) -> Done<UserPool<'_>> {
        Ok(UserPool {
            endpoint: &self.servers.endpoint,
            pool: self.output("UserPoolId")?,
            client: self.output("UserPoolClientId")?,
        })
    }

    /// The settings of the functions: the outputs that name tables and queues, and how AWS and Valkey are reached.
    pub fn function_settings(&self) -> BTreeMap<String, String> {
        let named = self.outputs.iter().filter_map(|(output, value)| {
            let is_setting =
                ["Table", "QueueUrl", "DeadUrl"].iter().any(|end| output.ends_with(end));
            is_setting.then(|| (setting(output), value.clone()))
        });
        let aws = cloud::aws_environment(&self.servers.endpoint);
        let aws = aws.map(|(name, value)| (name.to_owned(), value));
        let redis = ("REDIS_URL".to_owned(), self.servers.redis_url.clone());
        named.chain(aws).chain([redis]).collect()
    }

    /// The command that compares the rights of the functions with their calls.
    pub fn policies(&self, every_call: bool) -> Command {
        let mut compare = self.servers.tools.python();
        compare.arg(place::script("policies.py")).args(["--stack", cloud::STACK]);
        compare.arg("--calls").arg(self.servers.folder().join(cloud::CALLS));
        if every_call {
            compare.arg("--every-call");
        }
        cloud::with_aws(&mut compare, &self.servers.endpoint);
        compare
    }

    /// Adds the addresses and settings of the system to a command's environment.
    pub fn environment(&self, command: &mut Command) -> Done<()> {
        self.servers.environment(command)?;
        let folder = self.servers.folder();
        command.envs(self.function_settings());
        command.env("FANFOLD_URL", &self.servers.url);
        command.env("FANFOLD_STACK", json!(self.outputs).to_string());
        command.env("FANFOLD_ENV_FILE", self.write_env_file(&folder.join("functions.env"))?);
        command.env("FANFOLD_SAM_ENV_FILE", self.write_sam_file(&folder.join("sam-env.json"))?);
        command.env("FANFOLD_BOOTSTRAP", &self.bootstrap);
        Ok(())
    }

    /// Writes the functions' settings for `sam local --env-vars`, with the addresses that containers use.
    pub fn write_sam_file(&self, file: &Path) -> Done<PathBuf> {
        let mut settings = self.function_settings();
        if let Some(address) = self.servers.containers {
            for value in settings.values_mut() {
                *value = value.replace("127.0.0.1", &address.to_string());
            }
        }
        std::fs::write(file, json!({"Parameters": settings}).to_string()).doing(file.display())?;
        Ok(file.to_owned())
    }

    /// Writes the functions' settings for `cargo lambda watch --env-file`.
    pub fn write_env_file(&self, file: &Path) -> Done<PathBuf> {
        let mut text = String::new();
        for (name, value) in self.function_settings() {
            // writing to a String cannot fail
            let _written = writeln!(text, "{name}={value}");
        }
        std::fs::write(file, text).doing(file.display())?;
        Ok(file.to_owned())
    }

    /// Lets other commands find this system, among those of a folder.
    pub fn begin_run(&self, runs: &Path) -> Done<Run> {
        let state = json!({"endpoint": self.servers.endpoint, "outputs": self.outputs});
        Run::begin(runs, self.servers.port, &state)
    }
}

/// The setting for an output: `PostEventsQueueUrl` is `POST_EVENTS_QUEUE_URL`.
fn setting(output: &str) -> String {
    let mut name = String::new();
    for letter in output.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::setting;

    #[test]
    fn outputs_name_settings() {
        let outputs = ["UsersTable", "BulkEventsDeadUrl"];
        assert_eq!(outputs.map(setting), ["USERS_TABLE", "BULK_EVENTS_DEAD_URL"]);
    }
}
