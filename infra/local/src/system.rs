//! The whole system: servers, functions and stack. Dropping it stops all of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::cognito::UserPool;
use crate::failure::{Doing as _, Done, failure};
use crate::process::{self, Running};
use crate::progress::step;
use crate::tools::Tools;
use crate::{build, cloud, forward, place, ports, valkey};

pub struct System {
    pub endpoint: String,
    pub redis_url: String,
    pub outputs: BTreeMap<String, String>,
    pub tools: Tools,
    valkey: Running,
    cloud: Running,
    folder: PathBuf,
    containers: Option<IpAddr>,
    binaries: PathBuf,
}

/// How the system is started.
#[derive(Default)]
pub struct Start {
    pub port: Option<u16>,
    pub valkey_port: Option<u16>,
    /// Where containers find this machine, if they are let in.
    pub containers: Option<IpAddr>,
    pub quiet: bool,
    pub parameters: Vec<(&'static str, String)>,
}

impl System {
    pub fn start(start: Start) -> Done<Self> {
        let Start { quiet, .. } = start;
        let cloud_port = ports::choose(start.port, "--port")?;
        let valkey_port = ports::choose(start.valkey_port, "--valkey-port")?;
        // several may run at once: each has a folder for its logs and settings
        let folder = place::local().join(format!("run-{}", std::process::id()));
        forget_ended_runs();
        std::fs::create_dir_all(&folder).doing(folder.display())?;
        let tools = Tools::cloud(quiet)?;
        let binaries = step(quiet, "building the functions", || build::functions(&tools, quiet))?;
        let valkey = step(quiet, &format!("starting Valkey on port {valkey_port}"), || {
            valkey::start(&tools, valkey_port, &folder.join("valkey.log"))
        })?;
        let cloud = step(quiet, &format!("starting the local cloud on port {cloud_port}"), || {
            cloud::start(&tools, cloud_port, &folder.join("cloud.log"))
        })?;
        for port in [valkey_port, cloud_port] {
            if let Some(address) = start.containers {
                forward::start(address, port)?;
            }
        }
        let endpoint = format!("http://127.0.0.1:{cloud_port}");
        let redis_url = format!("redis://127.0.0.1:{valkey_port}");
        let mut parameters = start.parameters;
        let user = format!("redis://{}@127.0.0.1:{valkey_port}", valkey::USER);
        parameters.push(("ValkeyUrl", user));
        parameters.push(("Architecture", architecture()?.to_owned()));
        // each function at work is a process here, and this machine has but a few cores
        parameters.push(("FanOutAtOnce", "5".to_owned()));
        let outputs = step(quiet, "deploying infra/template.yaml", || {
            cloud::deploy(&tools, &endpoint, &binaries, &parameters)
        })?;
        Ok(Self {
            endpoint,
            redis_url,
            outputs,
            tools,
            valkey,
            cloud,
            folder,
            containers: start.containers,
            binaries,
        })
    }

    /// The folder of the functions' binaries.
    pub fn binaries(&self) -> &std::path::Path {
        &self.binaries
    }

    /// Where the API answers.
    pub fn url(&self) -> Done<String> {
        let api = self.output("ApiId")?;
        Ok(format!("{}/_aws/execute-api/{api}/$default", self.endpoint))
    }

    pub fn output(&self, name: &str) -> Done<&str> {
        let value = self.outputs.get(name).map(String::as_str);
        value.ok_or_else(|| failure(format!("the stack has no output {name}")))
    }

    pub fn user_pool(&self) -> Done<UserPool<'_>> {
        Ok(UserPool {
            endpoint: &self.endpoint,
            pool: self.output("UserPoolId")?,
            client: self.output("UserPoolClientId")?,
        })
    }

    /// The settings of the functions, as the stack gives them.
    pub fn function_settings(&self) -> Done<Vec<(&'static str, String)>> {
        let mut settings = vec![("REDIS_URL", self.redis_url.clone())];
        for (setting, output) in [
            ("USERS_TABLE", "UsersTable"),
            ("POSTS_TABLE", "PostsTable"),
            ("GRAPH_TABLE", "GraphTable"),
            ("POST_EVENTS_QUEUE_URL", "PostEventsQueueUrl"),
            ("CHUNKS_QUEUE_URL", "ChunksQueueUrl"),
            ("BULK_EVENTS_QUEUE_URL", "BulkEventsQueueUrl"),
            ("BULK_CHUNKS_QUEUE_URL", "BulkChunksQueueUrl"),
            ("BULK_EVENTS_DEAD_QUEUE_URL", "BulkEventsDeadQueueUrl"),
            ("BULK_CHUNKS_DEAD_QUEUE_URL", "BulkChunksDeadQueueUrl"),
            ("GRAPH_EVENTS_QUEUE_URL", "GraphEventsQueueUrl"),
            ("REBUILDS_QUEUE_URL", "RebuildsQueueUrl"),
            ("POST_EVENTS_DEAD_QUEUE_URL", "PostEventsDeadQueueUrl"),
            ("CHUNKS_DEAD_QUEUE_URL", "ChunksDeadQueueUrl"),
            ("GRAPH_EVENTS_DEAD_QUEUE_URL", "GraphEventsDeadQueueUrl"),
            ("REBUILDS_DEAD_QUEUE_URL", "RebuildsDeadQueueUrl"),
            ("DOCTOR_QUEUE_URL", "DoctorQueueUrl"),
        ] {
            settings.push((setting, self.output(output)?.to_owned()));
        }
        settings.extend(cloud::aws_environment(&self.endpoint));
        Ok(settings)
    }

    /// Compares what functions may do with what they did.
    pub fn policies(&self) -> Command {
        let mut compare = self.tools.python();
        compare.arg(place::script("policies.py")).args(["--stack", cloud::STACK]);
        compare.arg("--calls").arg(self.folder.join(cloud::CALLS));
        cloud::with_aws(&mut compare, &self.endpoint);
        compare
    }

    /// Gives a command all that it needs to talk to the system.
    pub fn environment(&self, command: &mut Command) -> Done<()> {
        cloud::with_aws(command, &self.endpoint);
        command.envs(self.function_settings()?);
        command.env("FANFOLD_URL", self.url()?);
        command.env("FANFOLD_VALKEY_USER", valkey::user()?);
        command.env("FANFOLD_STACK", json!(self.outputs).to_string());
        command.env("FANFOLD_ENV_FILE", self.write_env_file(&self.folder.join("functions.env"))?);
        command
            .env("FANFOLD_SAM_ENV_FILE", self.write_sam_file(&self.folder.join("sam-env.json"))?);
        command.env("FANFOLD_BINARIES", &self.binaries);
        Ok(())
    }

    /// Writes the functions' settings for `sam local --env-vars`, as containers see them.
    pub fn write_sam_file(&self, file: &std::path::Path) -> Done<PathBuf> {
        let seen = |value: String| match self.containers {
            Some(address) => value.replace("127.0.0.1", &address.to_string()),
            None => value,
        };
        let settings: BTreeMap<&str, String> = self
            .function_settings()?
            .into_iter()
            .map(|(name, value)| (name, seen(value)))
            .collect();
        std::fs::write(file, json!({"Parameters": settings}).to_string()).doing(file.display())?;
        Ok(file.to_owned())
    }

    /// Writes the functions' settings for `cargo lambda watch --env-file`.
    pub fn write_env_file(&self, file: &std::path::Path) -> Done<PathBuf> {
        let mut text = String::new();
        for (name, value) in self.function_settings()? {
            // a String takes whatever is written to it
            let _written = writeln!(text, "{name}={value}");
        }
        std::fs::write(file, text).doing(file.display())?;
        Ok(file.to_owned())
    }

    /// Tells the other commands where the system is.
    pub fn announce(&self) -> Done<()> {
        let state: Value = json!({
            "pid": std::process::id(),
            "endpoint": self.endpoint,
            "outputs": self.outputs,
        });
        let file = place::state_file();
        std::fs::write(&file, state.to_string()).doing(file.display())
    }

    /// Which of the servers has ended by itself, if any.
    pub fn ended(&mut self) -> Option<String> {
        let servers = [("Valkey", &mut self.valkey), ("the local cloud", &mut self.cloud)];
        for (name, server) in servers {
            if server.ended() {
                return Some(format!("{name} ended, see {}", server.log().display()));
            }
        }
        None
    }
}

/// This machine's, by the name that Lambda has for it.
fn architecture() -> Done<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("x86_64"),
        "aarch64" => Ok("arm64"),
        other => Err(failure(format!("there are no Lambda functions for {other}"))),
    }
}

/// Folders of systems that run no more. Their logs were of use until now.
fn forget_ended_runs() {
    for entry in std::fs::read_dir(place::local()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("run-").and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !process::is_running(pid)) {
            // one that cannot be removed is in nobody's way
            let _kept = std::fs::remove_dir_all(entry.path());
        }
    }
}
