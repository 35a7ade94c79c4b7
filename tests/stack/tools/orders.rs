//! The commands for operators, on a running system.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::local::{cargo_local, error_line, error_line_of, state};
use super::program::{command, run, succeed};
use crate::harness::dice;

/// `env_file`: the settings of the functions.
pub fn check_orders(env_file: &Path) {
    check_doctor(env_file);
    check_rebuild_and_drop();
    check_orders_to_a_stack();
}

fn check_rebuild_and_drop() {
    let output = succeed(cargo_local(&["rebuild", "@birch"]));
    let lines: Vec<&str> = output.lines().collect();
    let [home, author] = lines[..] else { panic!("{output}") };
    assert!(
        home.starts_with("home feed: ") && home.ends_with("down to the first post"),
        "{output}"
    );
    assert!(author.starts_with("author feed: "), "{output}");
    let output = error_line(&["rebuild", "@nobody"]);
    assert!(output.contains("user: @nobody has no profile in this system"), "{output}");
    let output = succeed(cargo_local(&["export", "@birch"]));
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].contains(r#""handle":"birch""#) && lines.len() > 10, "{output}");
    let output = error_line(&["drop", "@birch"]);
    assert!(output.contains("--yes"), "{output}");
    succeed(cargo_local(&["rebuild", "@birch"])); // birch is still there
    let output = succeed(cargo_local(&["drop", "@birch", "--yes"]));
    let (id, counts) = output.trim().split_once(" is erased: ").expect("the counts");
    assert!(counts.contains(" posts") && counts.contains(" followers"), "{output}");
    let output = error_line(&["rebuild", "@birch"]);
    assert!(output.contains("no profile"), "{output}");
    let output = succeed(cargo_local(&["drop", id, "--yes"]));
    assert!(output.trim().ends_with("is erased: nothing was left"), "{output}");
}

/// Runs the doctor on a healthy system, and on the same system with three broken parts.
fn check_doctor(env_file: &Path) {
    let output = succeed(cargo_local(&["doctor"]));
    assert!(output.ends_with("11 hold, 0 do not hold, 1 unknown\n"), "{output}");
    let settings = std::fs::read_to_string(env_file).expect("the settings of the functions");
    let setting = |name: &str| {
        let line = settings.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("{name}: {settings}")).to_owned()
    };
    let client = redis::Client::open(setting("REDIS_URL")).expect("a client");
    let mut valkey = client.get_connection().expect("Valkey");
    let mut valkey = |words: &[&str]| {
        let mut command = redis::Cmd::new();
        command.arg(words).query::<redis::Value>(&mut valkey).expect("Valkey")
    };
    valkey(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"]);
    valkey(&["ACL", "SETUSER", "functions", "-info", "-zrank"]);
    let ended = run(cargo_local(&["doctor"]));
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    let broken: Vec<&str> =
        ended.stdout.lines().filter(|line| line.starts_with("DOES NOT")).collect();
    let [commands, role] = broken[..] else { panic!("{}", ended.stdout) };
    assert!(commands.contains("ZRANK") && role.contains("replication id"), "{}", ended.stdout);
    // without INFO, the policy is unknown
    assert!(ended.stdout.lines().any(|line| line.starts_with("unknown   a full Valkey")));
    valkey(&["ACL", "SETUSER", "functions", "+info", "+zrank"]);
    let url = setting("DOCTOR_QUEUE_URL");
    let body = serde_json::json!({"QueueUrl": url}).to_string();
    let json = "Content-Type: application/x-amz-json-1.0";
    let target = "X-Amz-Target: AmazonSQS.DeleteQueue";
    let endpoint = setting("AWS_ENDPOINT_URL");
    succeed(command("curl", &["-sf", &endpoint, "-H", target, "-H", json, "-d", &body]));
    let ended = run(cargo_local(&["doctor"]));
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    let broken: Vec<&str> =
        ended.stdout.lines().filter(|line| line.starts_with("DOES NOT")).collect();
    let [eviction, queue] = broken[..] else { panic!("{}", ended.stdout) };
    assert!(eviction.contains("allkeys-lfu") && queue.contains("SQS"), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("\n          → ").count(), 2, "{}", ended.stdout);
    valkey(&["CONFIG", "SET", "maxmemory-policy", "volatile-lru"]);
    let output = succeed(cargo_local(&["begin-memory"]));
    assert_eq!(output, "256 buckets have a new memory\n");
}

/// A replacement for the `aws` program: accepts the same arguments, and calls the local cloud.
const AWS: &str = r#"#!/usr/bin/env python3
import argparse, sys
import boto3

if sys.argv[1:] == ["--version"]:
    sys.exit(print("aws-cli/2.0.0 stand-in"))
given = argparse.ArgumentParser(allow_abbrev=False)
given.add_argument("service")
given.add_argument("operation")
given.add_argument("--region", required=True)
for name in ["stack-name", "output", "query", "topic-arn", "function-name", "payload", "cli-binary-format", "cli-read-timeout"]:
    given.add_argument(f"--{name}")
given.add_argument("outfile", nargs="?")
given = given.parse_intermixed_args()
client = boto3.client(given.service, region_name=given.region)
if (given.service, given.operation) == ("cloudformation", "describe-stacks"):
    start, key, end = given.query.split("'")
    assert (start, end) == ("Stacks[0].Outputs[?OutputKey==", "].OutputValue")
    assert given.output == "text"
    outputs = client.describe_stacks(StackName=given.stack_name)["Stacks"][0]["Outputs"]
    print(*[o["OutputValue"] for o in outputs if o["OutputKey"] == key])
elif (given.service, given.operation) == ("sns", "get-topic-attributes"):
    assert (given.query, given.output) == ("Attributes.SubscriptionsConfirmed", "text")
    print(client.get_topic_attributes(TopicArn=given.topic_arn)["Attributes"]["SubscriptionsConfirmed"])
else:
    assert (given.service, given.operation) == ("lambda", "invoke")
    assert given.cli_binary_format == "raw-in-base64-out" and int(given.cli_read_timeout) > 60
    answer = client.invoke(FunctionName=given.function_name, Payload=given.payload.encode())
    open(given.outfile, "wb").write(answer["Payload"].read())
    print('{"StatusCode": 200}')
"#;

fn check_orders_to_a_stack() {
    let folder = std::env::temp_dir().join(format!("fanfold-aws-{:x}", dice::fresh()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("aws");
    std::fs::write(&program, AWS).expect("a program");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("its mode");
    let state = state();
    let on_stack = |arguments: &[&str], stack: &str| -> Command {
        let at = ["--stack", stack, "--region", "us-east-1"];
        let mut command = cargo_local(&[arguments, &at].concat());
        let all = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
        let all = all.expect("a path").to_string_lossy().into_owned();
        command.env("PATH", format!("{}:{all}", folder.display()));
        command.env("AWS_ENDPOINT_URL", state["endpoint"].as_str().expect("an endpoint"));
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        command
    };
    let output = succeed(on_stack(&["rebuild", "@cedar"], "fanfold"));
    assert!(output.starts_with("home feed: "), "{output}");
    // a subscriber counts when it has confirmed; a queue does so at once
    let topic = state["outputs"]["AlarmTopic"].as_str().expect("a topic");
    let endpoint = state["endpoint"].as_str().expect("an endpoint");
    let signed = "Authorization: AWS4-HMAC-SHA256 \
                  Credential=test/20260101/us-east-1/sns/aws4_request";
    for (protocol, subscriber, state) in [
        ("http", "http://127.0.0.1:9/", "DOES NOT"),
        ("sqs", "arn:aws:sqs:us-east-1:000000000000:alarms", "holds   "),
    ] {
        let form = format!(
            "Action=Subscribe&Version=2010-03-31&TopicArn={topic}&Protocol={protocol}&Endpoint={subscriber}"
        );
        succeed(command("curl", &["-sf", endpoint, "-H", signed, "-d", &form]));
        let output = run(on_stack(&["doctor"], "fanfold")).stdout;
        assert!(output.contains("holds     DynamoDB answers for each table"), "{output}");
        let alarms = format!("{state}  somebody gets the alarms");
        assert!(output.contains(&alarms), "{protocol}: {output}");
    }
    let output = succeed(on_stack(&["redrive", "rebuilds"], "fanfold"));
    assert_eq!(output, "0 of 0 dead letters moved to rebuilds\n");
    let output = succeed(on_stack(&["drop", "@cedar", "--yes"], "fanfold"));
    assert!(output.contains(" is erased: "), "{output}");
    let output = error_line_of(on_stack(&["rebuild", "@cedar"], "fanfold"));
    assert!(output.contains("user: @cedar has no profile in this system"), "{output}");
    let output = error_line_of(on_stack(&["rebuild", "@cedar"], "no-such-stack"));
    assert!(output.contains("no-such-stack"), "{output}");
    std::fs::remove_dir_all(&folder).expect("removed");
}
