//! The local cloud: AWS services on one port, and the deployed API on another.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::base::failure::{Doing as _, Done, failure};
use crate::base::process::Running;
use crate::base::tools::Tools;
use crate::base::{http, place};
use crate::launch::demo::people::{PASSWORD, PEOPLE};

/// The name of the deployed stack.
pub const STACK: &str = "fanfold";
/// The file, next to the log, of the calls that functions made.
pub const CALLS: &str = "calls.jsonl";
/// The file, next to the log, with the id of the API that the API's port serves.
const API_FILE: &str = "api-id";

/// The code that the user pool asks for, because it sends no emails.
const CODE: &str = "123456";
/// The variable with this code, and the users for whom the page offers to sign in. Functions inherit the environment of
/// the local cloud.
const DEMO: &str = "PAGE_DEMO";

/// The code, the password of the demo users, and their handles.
fn demo_users() -> String {
    let handles = PEOPLE.map(|(handle, _)| handle).join(" ");
    format!("{CODE} {PASSWORD} {handles}")
}

/// The address of the local cloud, with a region and credentials that work only there.
pub fn aws_environment(endpoint: &str) -> [(&'static str, String); 6] {
    [
        ("AWS_ENDPOINT_URL", endpoint.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_DEFAULT_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
    ]
}

/// Points a command to the local cloud, and hides the caller's own AWS settings from it.
pub fn with_aws(command: &mut Command, endpoint: &str) {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        if name != "AWS_LC_SYS_NO_JITTER_ENTROPY" {
            command.env_remove(name);
        }
    }
    command.envs(aws_environment(endpoint));
    for name in NO_PROXY {
        command.env(name, without_proxy(&std::env::var(name).unwrap_or_default()));
    }
}

/// The variables with the hosts that are called without a proxy. Some programs know one, some the other.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The hosts that the user calls without a proxy, and this machine.
fn without_proxy(users: &str) -> String {
    let hosts = users.split(',').map(str::trim).filter(|host| !host.is_empty());
    hosts.chain(["127.0.0.1", "localhost"]).collect::<Vec<_>>().join(",")
}

/// Calls an AWS service that takes JSON, such as `AmazonSQS.SendMessage`.
pub fn call(endpoint: &str, target: &str, json_version: &str, body: &Value) -> Done<Value> {
    let content = format!("application/x-amz-json-{json_version}");
    let headers = [("X-Amz-Target", target), ("Content-Type", content.as_str())];
    let (status, answer) = http::call("POST", endpoint, &headers, Some(body))?;
    if status == 200 {
        return Ok(answer);
    }
    Err(failure(format!("{target}: {answer}")))
}

/// The ports of the local cloud.
#[derive(Clone, Copy)]
pub struct Ports {
    pub aws: u16,
    pub api: u16,
}

/// Starts the local cloud and waits until it answers. The API's port answers 503 until [`serve_api`] names the API. The
/// cloud unpacks functions in the folder `temporary`, and does not remove them.
pub fn start(tools: &Tools, ports: Ports, log: &Path, temporary: &Path) -> Done<Running> {
    let endpoint = format!("http://127.0.0.1:{}", ports.aws);
    let mut server = tools.python();
    server.arg(place::script("serve.py")).current_dir(place::local());
    with_aws(&mut server, &endpoint);
    server.env("GATEWAY_PORT", ports.aws.to_string());
    server.env("BIND_HOST", "127.0.0.1").env("MINISTACK_HOST", "127.0.0.1");
    server.env("IOT_MTLS_ENABLED", "0").env("FANFOLD_CALLS", log.with_file_name(CALLS));
    server.env("FANFOLD_API_PORT", ports.api.to_string());
    server.env("FANFOLD_API_FILE", log.with_file_name(API_FILE));
    server.env("TMPDIR", temporary);
    server.env(DEMO, demo_users()).env("FANFOLD_CODE", CODE);
    let mut running = Running::start("the local cloud", server, log)?;
    let health = format!("{endpoint}/_ministack/health");
    running.ready(Duration::from_secs(30), || {
        http::call("GET", &health, &[], None).is_ok_and(|(status, _)| status == 200)
    })?;
    Ok(running)
}

/// Makes the API's port serve this API.
pub fn serve_api(cloud: &Running, api: &str) -> Done<()> {
    let file = cloud.log().with_file_name(API_FILE);
    std::fs::write(&file, api).doing(file.display())
}

/// Deploys the template with one binary for all functions, and returns the stack's outputs.
pub fn deploy(
    tools: &Tools,
    endpoint: &str,
    bootstrap: &Path,
    parameters: &[(&str, String)],
) -> Done<BTreeMap<String, String>> {
    let mut deploy = tools.python();
    deploy.arg(place::script("deploy.py")).args(["--stack", STACK]);
    deploy.arg("--template").arg(place::template()).arg("--bootstrap").arg(bootstrap);
    for (name, value) in parameters {
        deploy.args(["--parameter", &format!("{name}={value}")]);
    }
    with_aws(&mut deploy, endpoint);
    let output = deploy.output().doing("deploying the template")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = said.trim().lines().last().unwrap_or("deploy.py printed no reason").to_owned();
        return Err(failure(format!("infra/template.yaml: {reason}")));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| failure(format!("the stack's outputs: {error}")))
}

#[cfg(test)]
mod tests {
    use super::{demo_users, without_proxy};

    #[test]
    fn the_page_is_told_the_code_the_password_and_twelve_handles() {
        let users = demo_users();
        let words: Vec<&str> = users.split(' ').collect();
        let first = &["123456", "Fanfold-demo-1", "ash", "birch"][..];
        assert_eq!((words.len(), &words[..4]), (14, first));
    }

    #[test]
    fn this_machine_is_called_without_a_proxy() {
        assert_eq!(without_proxy(""), "127.0.0.1,localhost");
        assert_eq!(
            without_proxy("example.com, 10.0.0.1"),
            "example.com,10.0.0.1,127.0.0.1,localhost"
        );
    }
}
