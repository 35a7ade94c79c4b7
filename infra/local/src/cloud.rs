//! The local cloud: AWS services on one port.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::failure::{Doing as _, Done, failure};
use crate::process::Running;
use crate::tools::Tools;
use crate::{http, place};

pub const STACK: &str = "fanfold";
/// The file, beside the log, of what functions did.
pub const CALLS: &str = "calls.jsonl";

/// Region and credentials that mean nothing outside this machine, and the way to the local cloud.
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

/// Nothing of the caller's own AWS settings may reach the local system, or the other way round.
pub fn with_aws(command: &mut Command, endpoint: &str) {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        if name != "AWS_LC_SYS_NO_JITTER_ENTROPY" {
            command.env_remove(name);
        }
    }
    command.envs(aws_environment(endpoint));
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

pub fn start(tools: &Tools, port: u16, log: &Path) -> Done<Running> {
    let endpoint = format!("http://127.0.0.1:{port}");
    let mut server = tools.python();
    server.arg(place::script("serve.py")).current_dir(place::local());
    with_aws(&mut server, &endpoint);
    server.env("GATEWAY_PORT", port.to_string());
    server.env("BIND_HOST", "127.0.0.1").env("MINISTACK_HOST", "127.0.0.1");
    server.env("IOT_MTLS_ENABLED", "0").env("FANFOLD_CALLS", log.with_file_name(CALLS));
    let mut running = Running::start("the local cloud", server, log)?;
    let health = format!("{endpoint}/_ministack/health");
    running.ready(Duration::from_secs(30), || {
        http::call("GET", &health, &[], None).is_ok_and(|(status, _)| status == 200)
    })?;
    Ok(running)
}

/// Deploys the template and gives the stack's outputs.
pub fn deploy(
    tools: &Tools,
    endpoint: &str,
    binaries: &Path,
    parameters: &[(&str, String)],
) -> Done<BTreeMap<String, String>> {
    let mut deploy = tools.python();
    deploy.arg(place::script("deploy.py")).args(["--stack", STACK]);
    deploy.arg("--template").arg(place::root().join("infra/template.yaml"));
    deploy.arg("--binaries").arg(binaries);
    for (name, value) in parameters {
        deploy.args(["--parameter", &format!("{name}={value}")]);
    }
    with_aws(&mut deploy, endpoint);
    let output = deploy.output().doing("deploying the template")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = said.trim().lines().last().unwrap_or("deploy.py said nothing").to_owned();
        return Err(failure(format!("infra/template.yaml: {reason}")));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| failure(format!("the stack's outputs: {error}")))
}
