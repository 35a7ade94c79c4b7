//! A stack on AWS, reached by the `aws` program with the caller's region, credentials and profile.

use std::process::Command;

use serde_json::Value;

use crate::base::failure::{Doing as _, Done, failure};

pub struct Stack {
    name: String,
    region: Option<String>,
    function: String,
}

impl Stack {
    /// Finds the stack's function `admin`.
    pub fn find(name: String, region: Option<String>) -> Done<Self> {
        let mut stack = Self { name, region, function: String::new() };
        stack.function = stack.output("AdminFunction")?;
        Ok(stack)
    }

    fn output(&self, key: &str) -> Done<String> {
        let mut describe = aws("cloudformation", "describe-stacks", self.region.as_deref());
        describe.args(["--stack-name", &self.name, "--output", "text", "--query"]);
        describe.arg(format!("Stacks[0].Outputs[?OutputKey=='{key}'].OutputValue"));
        let value = said(describe)?.trim().to_owned();
        match value.as_str() {
            "" | "None" => Err(failure(format!("the stack {} has no output {key}", self.name))),
            _ => Ok(value),
        }
    }

    /// How many subscriptions of the topic of the alarms are confirmed.
    pub fn alarm_subscriptions(&self) -> Done<u32> {
        let mut ask = aws("sns", "get-topic-attributes", self.region.as_deref());
        ask.args(["--topic-arn", &self.output("AlarmTopic")?, "--output", "text"]);
        ask.args(["--query", "Attributes.SubscriptionsConfirmed"]);
        let text = said(ask)?;
        text.trim().parse().map_err(|_| failure(format!("aws: {text} is no number")))
    }

    /// Invokes the function and returns its answer.
    pub fn invoke(&self, order: &Value) -> Done<Value> {
        let answer = std::env::temp_dir().join(format!("fanfold-answer-{}", std::process::id()));
        let mut invoke = aws("lambda", "invoke", self.region.as_deref());
        invoke.args(["--function-name", &self.function, "--payload", &order.to_string()]);
        // version 1 of the program takes texts as they are, and has no such option
        let mut version = Command::new("aws");
        version.arg("--version");
        if !said(version)?.starts_with("aws-cli/1.") {
            invoke.args(["--cli-binary-format", "raw-in-base64-out"]);
        }
        // the function may run for a minute, and a retry would carry the order out twice
        invoke.args(["--cli-read-timeout", "90"]).arg(&answer);
        let invoked = said(invoke);
        let text = std::fs::read_to_string(&answer);
        // a file that stays does no harm
        let _gone = std::fs::remove_file(&answer);
        invoked?;
        let text = text.doing(answer.display())?;
        serde_json::from_str(&text).map_err(|_| failure(format!("the function answered {text}")))
    }
}

fn aws(service: &str, operation: &str, region: Option<&str>) -> Command {
    let mut aws = Command::new("aws");
    aws.args([service, operation]);
    if let Some(region) = region {
        aws.args(["--region", region]);
    }
    aws
}

/// Runs the program and returns its output. A program that fails is a failure with its last line.
fn said(mut aws: Command) -> Done<String> {
    let output = aws.output().doing("running aws (the AWS command line)")?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.trim().lines().last().unwrap_or("it printed nothing").to_owned();
    Err(failure(format!("aws: {reason}")))
}
