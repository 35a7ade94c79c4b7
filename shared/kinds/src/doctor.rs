//! Checks, on the deployed system, each assumption that the code makes about Valkey, DynamoDB, SQS and clocks. These
//! assumptions cannot be checked before the deployment.

use std::time::Duration;

use fanfold_core::limits::{CLOCKS_DIFFER, VALKEY_ARGUMENTS_MAX};
use fanfold_core::time::millis;
use fanfold_core::{Bucket, Time};
use fanfold_engines::table::{TableProbe, Tables};
use fanfold_engines::valkey::probe::{Cause, ScriptInfo, UnknownScript, log_in_twice};
use fanfold_engines::valkey::{FeedSettings, Valkey};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::ConfigError;
use fanfold_runtime::log::Chain;
use fanfold_runtime::sqs::{Outbox, QueueProbe};
use fanfold_runtime::{Config, StoreError, clock};
use futures::future::{BoxFuture, join_all};
use serde::Serialize;

/// The time that one check of `doctor` may take.
const DOCTOR_CHECK: Duration = Duration::from_secs(8);

/// The clients and settings that the checks use.
#[derive(Clone)]
pub struct Doctor {
    /// The AWS configuration, for a login to Valkey on a new connection.
    pub sdk: SdkConfig,
    pub settings: FeedSettings,
    pub tables: TableProbe,
    pub queue: QueueProbe,
}

impl Doctor {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, outbox: &Outbox, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            sdk: sdk.clone(),
            settings: FeedSettings::read(config)?,
            tables: TableProbe::new(&Tables::new(sdk, config))?,
            queue: QueueProbe::new(outbox, config)?,
        })
    }
}

/// Whether an assumption holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Holds,
    DoesNotHold,
    /// It cannot be checked; [`Check::found`] says why.
    Unknown,
}

/// The check of one assumption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub assumption: &'static str,
    pub state: State,
    /// The observation, or the error.
    pub found: String,
    /// The consequences if the assumption does not hold, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<&'static str>,
}

/// The results of all checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    pub checks: Vec<Check>,
}

/// Whether the assumption holds, and the observation.
type Finding = (State, String);
type Look<'a> = BoxFuture<'a, Result<Finding, StoreError>>;

fn holds(found: impl Into<String>) -> Result<Finding, StoreError> {
    Ok((State::Holds, found.into()))
}

fn broken(found: impl Into<String>) -> Result<Finding, StoreError> {
    Ok((State::DoesNotHold, found.into()))
}

fn unknown(found: impl Into<String>) -> Result<Finding, StoreError> {
    Ok((State::Unknown, found.into()))
}

/// Makes one check. An error or a timeout means that the assumption does not hold; but if a right is missing, the
/// result is unknown, because another check reports missing rights.
async fn check(
    assumption: &'static str,
    follows: &'static str,
    look: impl Future<Output = Result<Finding, StoreError>>,
) -> Check {
    let (state, found) = match clock::within(DOCTOR_CHECK, look).await {
        Some(Ok(found)) => found,
        Some(Err(error)) => match Cause::of(&error) {
            Cause::Rights => (State::Unknown, Chain(&error).to_string()),
            _ => (State::DoesNotHold, Chain(&error).to_string()),
        },
        None => (State::DoesNotHold, format!("no answer within {} s", DOCTOR_CHECK.as_secs())),
    };
    let follows = (state == State::DoesNotHold).then_some(follows);
    Check { assumption, state, found, follows }
}

/// Makes all checks; those of different services run at the same time. Failed checks are logged as well.
pub async fn diagnose(doctor: &Doctor, valkey: &Valkey, now: Time) -> Diagnosis {
    let (of_valkey, login, of_tables, of_queue) = futures::join!(
        of_valkey(valkey),
        of_login(doctor),
        of_tables(&doctor.tables, now),
        of_queue(&doctor.queue)
    );
    let checks: Vec<Check> =
        of_valkey.into_iter().chain([login]).chain(of_tables).chain(of_queue).collect();
    for check in checks.iter().filter(|check| check.state == State::DoesNotHold) {
        tracing::warn!(check.assumption, check.found, "an assumption does not hold");
    }
    Diagnosis { checks }
}

/// Checks first whether Valkey answers. If it does not, the other checks are unknown: they would only wait again.
async fn of_valkey(valkey: &Valkey) -> Vec<Check> {
    // a bucket of a shard that answers
    let mut answers = None;
    let reached = check(
        "Valkey answers",
        "Pages are read from DynamoDB, and posts wait in their queues. Check the security groups, REDIS_URL, \
         the user's login, and the nodes.",
        reached(valkey, &mut answers),
    )
    .await;
    let bucket = answers.unwrap_or_default();
    let looks: [(&str, &str, Look<'_>); 6] = [
        (
            "Valkey lets the functions run every command that they use",
            "Calls that need the command fail. Give the user the access string of infra/cache.yaml.",
            Box::pin(commands(valkey, bucket)),
        ),
        (
            "Valkey accepts writes",
            "Feeds are read from DynamoDB, and posts wait in their queues. If the server is full, make room: see \
             valkey-memory in the runbook. If it is a replica, set REDIS_URL to the primary.",
            Box::pin(writes(valkey)),
        ),
        (
            "a script can read the server's role and replication id",
            "After a fail-over that loses writes, feeds may lack posts until the audit finds them, and a late \
             push may reach a user who has unfollowed the author. Use ValkeyKind=cluster.",
            Box::pin(role(valkey)),
        ),
        (
            "a full Valkey evicts nothing that a rule relies on",
            "A full server loses some feeds, relations and memories, so feeds may be wrong until the audit finds \
             them. Set maxmemory-policy to volatile-lru or noeviction.",
            Box::pin(eviction(valkey)),
        ),
        (
            "Valkey accepts the longest call of a script",
            "Long rebuilds and pushes fail. Lower FeedCap.",
            Box::pin(longest_call(valkey, bucket)),
        ),
        (
            "Valkey reports an unknown script, and then accepts its text",
            "After a restart of the server, no script runs, and feeds are read from DynamoDB. Use a server that \
             answers NOSCRIPT.",
            Box::pin(unknown_script(valkey, bucket)),
        ),
    ];
    let checks = looks.map(async |(assumption, follows, look)| match answers {
        Some(_) => check(assumption, follows, look).await,
        None => check(assumption, follows, async { unknown("Valkey does not answer") }).await,
    });
    [vec![reached], join_all(checks).await].concat()
}

/// Also stores a bucket of a shard that answers.
async fn reached(valkey: &Valkey, answers: &mut Option<Bucket>) -> Result<Finding, StoreError> {
    let before = clock::now();
    let pings = valkey.ping_each().await;
    let took_ms = millis(clock::now().since(before));
    // a refusal is an answer too
    let all = pings.len();
    let is_silent = |ping: &Result<(), StoreError>| {
        ping.as_ref().is_err_and(|error| Cause::of(error) == Cause::Other)
    };
    let (silent, heard): (Vec<_>, Vec<_>) =
        pings.into_iter().partition(|(_, ping)| is_silent(ping));
    *answers = heard.first().map(|(bucket, _)| *bucket);
    match silent.first() {
        Some((_, Err(error))) => {
            let (count, why) = (silent.len(), Chain(error));
            broken(format!("no answer for {count} of {all} buckets: {why}"))
        }
        _ => holds(format!("answers for {all} buckets within {took_ms} ms")),
    }
}

async fn longest_call(valkey: &Valkey, bucket: Bucket) -> Result<Finding, StoreError> {
    let (arrived, sent) = valkey.longest_call(bucket).await?;
    match arrived == sent {
        true => holds(format!("{VALKEY_ARGUMENTS_MAX} arguments")),
        false => broken(format!("{arrived} of {sent} arguments arrived")),
    }
}

async fn unknown_script(valkey: &Valkey, bucket: Bucket) -> Result<Finding, StoreError> {
    match valkey.unknown_script(bucket).await? {
        UnknownScript::Learned => holds("it answers NOSCRIPT, then runs the text"),
        UnknownScript::Forgotten => holds("it does not keep scripts, so each call is sent twice"),
        UnknownScript::Other(what) => broken(what),
    }
}

async fn commands(valkey: &Valkey, bucket: Bucket) -> Result<Finding, StoreError> {
    let refused = valkey.refused_commands(bucket).await?;
    let (rights, others): (Vec<_>, Vec<_>) =
        refused.iter().partition(|refused| Cause::of_text(refused) == Cause::Rights);
    match (rights.first(), others.first()) {
        (Some(first), _) => broken(format!("{first} (and {} more)", rights.len() - 1)),
        (None, Some(first)) => unknown(format!("not all commands were tried: {first}")),
        (None, None) => holds("every command runs on every kind of key"),
    }
}

async fn writes(valkey: &Valkey) -> Result<Finding, StoreError> {
    let writes = valkey.write_each().await;
    let failed: Vec<&StoreError> = writes.iter().filter_map(|write| write.as_ref().err()).collect();
    let Some(first) = failed.first() else {
        return holds(format!("written in {} buckets", writes.len()));
    };
    let why = match Cause::of(first) {
        Cause::Rights => return unknown(Chain(*first).to_string()),
        Cause::Full => "the server is full: ",
        Cause::ReadOnly => "the server is a replica: ",
        Cause::Other => "",
    };
    broken(format!(
        "not written in {} of {} buckets: {why}{}",
        failed.len(),
        writes.len(),
        Chain(*first)
    ))
}

/// The worst result of all shards: `DoesNotHold`, then `Unknown`, then `Holds`.
fn worst(
    infos: Vec<Result<ScriptInfo, StoreError>>,
    judge: impl Fn(&ScriptInfo) -> Finding,
) -> Result<Finding, StoreError> {
    let mut worst: Option<Finding> = None;
    for info in infos {
        let found = match &info {
            Ok(info) => judge(info),
            Err(error) => (State::Unknown, Chain(error).to_string()),
        };
        let rank = |state| match state {
            State::Holds => 0,
            State::Unknown => 1,
            State::DoesNotHold => 2,
        };
        if worst.as_ref().is_none_or(|worst| rank(found.0) > rank(worst.0)) {
            worst = Some(found);
        }
    }
    Ok(worst.unwrap_or((State::Unknown, "there are no buckets".to_owned())))
}

async fn role(valkey: &Valkey) -> Result<Finding, StoreError> {
    worst(valkey.info_each("replication").await, |info| {
        match (info, info.field("role"), info.field("master_replid")) {
            (_, Some("master"), Some(id)) if id.len() >= 8 => {
                (State::Holds, "it is a primary with an id".to_owned())
            }
            (_, Some(role), _) if role != "master" => {
                (State::DoesNotHold, format!("a server that answers is a replica (role:{role})"))
            }
            (ScriptInfo::Refused(reason), ..) => {
                (State::DoesNotHold, format!("INFO is refused in scripts: {reason}"))
            }
            (_, None, _) => (State::DoesNotHold, "INFO replication shows no role".to_owned()),
            _ => (State::DoesNotHold, "INFO replication shows no master_replid".to_owned()),
        }
    })
}

async fn eviction(valkey: &Valkey) -> Result<Finding, StoreError> {
    worst(valkey.info_each("memory").await, |info| match info.field("maxmemory_policy") {
        Some(policy) if policy.starts_with("allkeys-") => (State::DoesNotHold, policy.to_owned()),
        Some(policy) => (State::Holds, policy.to_owned()),
        None => (State::Unknown, "INFO memory shows no maxmemory_policy".to_owned()),
    })
}

/// Checks the login on a new connection, so that it also runs if Valkey does not answer because of the login.
async fn of_login(doctor: &Doctor) -> Check {
    check(
        "the functions log in to Valkey with IAM, and again on an open connection",
        "A connection is refused, or ends after 12 hours. Check ConnectToCache, REDIS_IAM_CACHE, REDIS_IAM_KIND, \
         and the cache's user group.",
        async {
            match log_in_twice(&doctor.sdk, &doctor.settings).await? {
                true => holds("both logins succeeded"),
                false => unknown("IAM is not used here (REDIS_IAM_CACHE is empty)"),
            }
        },
    )
    .await
}

async fn of_tables(tables: &TableProbe, now: Time) -> Vec<Check> {
    let reached = check(
        "DynamoDB answers for each table",
        "The API answers 503, and messages wait. Check the gateway endpoint, its policy, and the functions' \
         policies.",
        async {
            tables.read_each().await?;
            holds("each table answers")
        },
    );
    let transaction = check(
        "DynamoDB writes transactions, and names the condition that failed",
        "Posts and follows are refused, or written twice. Check the endpoint's policy and the functions' \
         policies.",
        async {
            match tables.transact(now).await? {
                true => holds("written, refused the second time, deleted"),
                false => broken("the second transaction was not refused for both items"),
            }
        },
    );
    let (reached, transaction) = futures::join!(reached, transaction);
    vec![reached, transaction]
}

async fn of_queue(queue: &QueueProbe) -> Vec<Check> {
    let mut apart = None;
    let delivered = check(
        "SQS accepts a message and returns it",
        "Posts and follows are refused, or reach nobody. Check the interface endpoint, its policy, and the \
         functions' policies.",
        async {
            apart = queue.send_and_receive().await?;
            match apart {
                Some(_) => holds("sent, received, deleted"),
                None => broken("the message that was sent did not arrive"),
            }
        },
    )
    .await;
    let clocks = check(
        "the clocks of the functions and of AWS agree",
        "A push from before an unfollow may count as newer, so readers may see posts of authors whom they have \
         unfollowed. Check the clock of the machine that runs the functions.",
        async { clocks(apart) },
    )
    .await;
    vec![delivered, clocks]
}

/// Checks a function's clock against AWS. The clocks of two functions may differ in opposite directions, so each may
/// differ from AWS by half of [`CLOCKS_DIFFER`].
fn clocks(apart: Option<Duration>) -> Result<Finding, StoreError> {
    match apart {
        None => unknown("SQS did not return its time"),
        Some(apart) if apart <= CLOCKS_DIFFER / 2 => {
            holds(format!("they agree within {} ms", millis(apart) + 1))
        }
        Some(apart) => broken(format!("they differ by {} ms", millis(apart))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_differ_by_half_of_the_limit() {
        let state = |apart| clocks(apart).map(|found| found.0);
        assert!(matches!(state(Some(CLOCKS_DIFFER / 2)), Ok(State::Holds)));
        assert!(matches!(
            state(Some(CLOCKS_DIFFER / 2 + Duration::from_millis(1))),
            Ok(State::DoesNotHold)
        ));
        assert!(matches!(state(None), Ok(State::Unknown)));
    }
}
