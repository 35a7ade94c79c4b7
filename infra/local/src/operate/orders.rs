//! Orders to the function `admin`: of the running system, or of a stack on AWS.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::base::failure::{Done, failure};
use crate::base::process;
use crate::operate::running::{Here, Running};
use crate::operate::stack::Stack;

/// The most orders that one command sends. Each may take a minute; no user needs nearly as many.
const ORDERS_MAX: usize = 10_000;

/// Which system an order is for.
#[derive(clap::Args)]
pub struct At {
    /// A stack on AWS, called through the `aws` program, instead of the running system
    #[arg(long, value_name = "NAME", conflicts_with = "port")]
    stack: Option<String>,
    /// The region of the stack (default: the region of `aws`)
    #[arg(long, requires = "stack")]
    region: Option<String>,
    #[command(flatten)]
    here: Here,
}

enum Admin {
    Running(Running),
    Stack(Stack),
}

impl At {
    fn admin(self) -> Done<Admin> {
        Ok(match self.stack {
            Some(name) => Admin::Stack(Stack::find(name, self.region)?),
            None => Admin::Running(Running::find(&self.here)?),
        })
    }
}

impl Admin {
    /// Sends an order and returns the answer. An order that the function refuses is a failure with its reason.
    fn order(&self, order: &Value) -> Done<Value> {
        let answer = match self {
            Admin::Running(running) => running.invoke("AdminFunction", order)?,
            Admin::Stack(stack) => stack.invoke(order)?,
        };
        match answer.get("errorMessage").and_then(Value::as_str) {
            Some(reason) => Err(failure(reason)),
            None => Ok(answer),
        }
    }
}

/// The doctor's check that somebody gets the alarms. The function `admin` cannot make it: it reaches no SNS.
fn check_of_alarms(subscriptions: Done<u32>) -> Value {
    let (state, found) = match subscriptions {
        Ok(0) => ("does-not-hold", "their topic has no confirmed subscription".to_owned()),
        Ok(count) => ("holds", format!("confirmed subscriptions of their topic: {count}")),
        Err(reason) => ("unknown", reason.to_string()),
    };
    let follows = (state == "does-not-hold").then_some(
        "Nobody learns of an alarm. Set AlarmEmail and follow the link in the email from AWS, or subscribe to \
         the topic in the output AlarmTopic.",
    );
    json!({
        "assumption": "somebody gets the alarms", "state": state, "found": found, "follows": follows,
    })
}

fn number(answer: &Value, name: &str) -> u64 {
    answer.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// Drops feeds and rebuilds them.
pub fn rebuild(of: &str, at: At) -> Done<ExitCode> {
    let rebuilt = at.admin()?.order(&json!({"do": "rebuild-feed", "of": of}))?;
    for (name, what) in [("home", "home feed"), ("author", "author feed"), ("feed", "feed")] {
        let Some(feed) = rebuilt.get(name) else { continue };
        let down_to = match number(feed, "floor_ms") {
            0 => "the first post".to_owned(),
            floor_ms => format!("{floor_ms} (ms since 1970)"),
        };
        println!("{what}: {} entries, down to {down_to}", number(feed, "entries"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Erases a user. Repeats the order until the removal is complete.
pub fn drop_user(user: &str, at: At) -> Done<ExitCode> {
    let admin = at.admin()?;
    let (mut sums, mut user) = (BTreeMap::<String, u64>::new(), user.to_owned());
    for _ in 0..ORDERS_MAX {
        let dropped = admin.order(&json!({"do": "drop-user", "user": user}))?;
        // the first order has removed the handle
        if let Some(id) = dropped.get("user").and_then(Value::as_str) {
            id.clone_into(&mut user);
        }
        for (name, count) in dropped.as_object().into_iter().flatten() {
            if let Some(count) = count.as_u64().filter(|_| name != "wait_ms") {
                *sums.entry(name.replace('_', " ")).or_default() += count;
            }
        }
        if dropped.get("done") == Some(&Value::Bool(true)) {
            let sums: Vec<String> =
                sums.iter().map(|(name, count)| format!("{count} {name}")).collect();
            let removed = sums.join(", ");
            println!(
                "{user} is erased: {}",
                if removed.is_empty() { "nothing was left" } else { &removed }
            );
            return Ok(ExitCode::SUCCESS);
        }
        let wait_ms = number(&dropped, "wait_ms");
        if wait_ms > 0 {
            eprintln!(
                "{user}: waiting {} s for messages that are still on their way",
                wait_ms.div_ceil(1000)
            );
        }
        process::sleep(Duration::from_millis(wait_ms))?;
    }
    Err(failure(format!("{user} is not erased completely; run the command again")))
}

/// Prints everything that is stored about a user, as lines of JSON.
pub fn export(user: &str, at: At) -> Done<ExitCode> {
    let (admin, mut after) = (at.admin()?, Value::Null);
    for _ in 0..ORDERS_MAX {
        let page = admin.order(&json!({"do": "export", "user": user, "after": after}))?;
        for line in page.get("lines").and_then(Value::as_array).into_iter().flatten() {
            println!("{line}");
        }
        after = page.get("next").cloned().unwrap_or_default();
        if after.is_null() {
            return Ok(ExitCode::SUCCESS);
        }
    }
    Err(failure("the user has more than one command exports; read GET /v1/me/export"))
}

/// Moves the messages that are in a dead-letter queue now back to their queue. Messages that still fail become dead
/// letters again.
pub fn redrive(queue: &str, at: At) -> Done<ExitCode> {
    let admin = at.admin()?;
    let (mut moved, mut waiting) = (0, None);
    for _ in 0..ORDERS_MAX {
        let redriven = admin.order(&json!({"do": "redrive", "queue": queue}))?;
        let (now, left) = (number(&redriven, "moved"), number(&redriven, "left"));
        for (reason, count) in
            redriven.get("reasons").and_then(Value::as_object).into_iter().flatten()
        {
            println!("{count}: {reason}");
        }
        moved += now;
        let all = *waiting.get_or_insert(now + left);
        if now == 0 || left == 0 || moved >= all {
            break;
        }
    }
    let waiting = waiting.unwrap_or_default().max(moved);
    println!("{moved} of {waiting} dead letters moved to {queue}");
    Ok(ExitCode::SUCCESS)
}

/// Makes the system ignore the present data in Valkey, as if it were lost.
pub fn begin_memory(at: At) -> Done<ExitCode> {
    let begun = at.admin()?.order(&json!({"do": "begin-memory"}))?;
    println!("{} buckets have a new memory", number(&begun, "begun"));
    match begun.get("reason").and_then(Value::as_str) {
        None => Ok(ExitCode::SUCCESS),
        Some(reason) => {
            let failed = number(&begun, "failed");
            Err(failure(format!(
                "{failed} buckets have no new memory; run the command again ({reason})"
            )))
        }
    }
}

/// Prints whether each assumption holds, and the consequences of those that do not hold.
pub fn doctor(at: At) -> Done<ExitCode> {
    let admin = at.admin()?;
    let diagnosis = admin.order(&json!({"do": "doctor"}))?;
    let checks = diagnosis.get("checks").and_then(Value::as_array);
    let checks = checks.filter(|checks| !checks.is_empty());
    let checks = checks.ok_or_else(|| failure(format!("the function answered {diagnosis}")))?;
    let mut checks = checks.clone();
    // the alarms of this machine are for nobody
    if let Admin::Stack(stack) = &admin {
        checks.push(check_of_alarms(stack.alarm_subscriptions()));
    }
    let (table, broken) = table_of(&checks);
    print!("{table}");
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A table with a line for each check, its consequence where it does not hold, and a last line with counts. Also returns
/// how many checks do not hold.
fn table_of(checks: &[Value]) -> (String, usize) {
    let text = |check: &Value, name: &str| {
        check.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let widest = checks.iter().map(|check| text(check, "assumption").chars().count()).max();
    let (widest, mut table) = (widest.unwrap_or_default(), String::new());
    let (mut holds, mut broken, mut unknown) = (0, 0, 0);
    for check in checks {
        let (state, count) = match text(check, "state").as_str() {
            "holds" => ("holds", &mut holds),
            "does-not-hold" => ("DOES NOT", &mut broken),
            _ => ("unknown", &mut unknown),
        };
        *count += 1;
        let (assumption, found) = (text(check, "assumption"), text(check, "found"));
        table += &format!("{state:<8}  {assumption:<widest$}  {found}\n");
        if let Some(follows) = check.get("follows").and_then(Value::as_str) {
            table += &format!("          → {follows}\n");
        }
    }
    table += &format!("{holds} hold, {broken} do not hold, {unknown} unknown\n");
    (table, broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_that_nobody_gets_are_broken_and_unknown_ones_are_not() {
        for (subscriptions, state) in
            [(Ok(0), "does-not-hold"), (Ok(2), "holds"), (Err(failure("no right")), "unknown")]
        {
            let check = check_of_alarms(subscriptions);
            assert_eq!(check["state"], state);
            assert_eq!(check["follows"].is_string(), state == "does-not-hold", "{check}");
        }
    }

    #[test]
    fn a_table_says_what_holds_and_what_follows_where_something_does_not() {
        let checks = [
            json!({"assumption": "Valkey answers", "state": "holds", "found": "within 1 ms"}),
            json!({"assumption": "clocks agree", "state": "does-not-hold", "found": "5 s apart",
                   "follows": "Set the clock."}),
            json!({"assumption": "IAM", "state": "unknown", "found": "not used"}),
        ];
        let (table, broken) = table_of(&checks);
        let expected = "holds     Valkey answers  within 1 ms\n\
                        DOES NOT  clocks agree    5 s apart\n          → Set the clock.\n\
                        unknown   IAM             not used\n\
                        1 hold, 1 do not hold, 1 unknown\n";
        assert_eq!((table.as_str(), broken), (expected, 1));
    }
}
