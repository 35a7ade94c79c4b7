//! Checks, on the deployed system, what cannot be checked before it is deployed: each assumption that the
//! rest of the code makes about Valkey, DynamoDB, SQS and clocks.

use fanfold_core::limits::{CLOCKS_DIFFER_MS, DOCTOR_CHECK_MS, VALKEY_ARGUMENTS_MAX};
use fanfold_store::aws::SdkConfig;
use fanfold_store::config::{ConfigError, FeedSettings};
use fanfold_store::dynamo::TableProbe;
use fanfold_store::log::Chain;
use fanfold_store::sqs::QueueProbe;
use fanfold_store::valkey::Valkey;
use fanfold_store::valkey::probe::{Cause, ScriptInfo, UnknownScript, log_in_twice};
use fanfold_store::{Config, StoreError, clock};
use futures::future::BoxFuture;
use serde::Serialize;

#[derive(Clone)]
pub struct Doctor {
    pub sdk: SdkConfig,
    pub settings: FeedSettings,
    pub tables: TableProbe,
    pub queue: QueueProbe,
}

impl Doctor {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            sdk: sdk.clone(),
            settings: config.feeds()?,
            tables: TableProbe::new(sdk, config)?,
            queue: QueueProbe::new(sdk, config)?,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Holds,
    DoesNotHold,
    Unknown,
}

/// One assumption, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub assumption: &'static str,
    pub state: State,
    pub found: String,
    /// What happens where the assumption does not hold, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    pub checks: Vec<Check>,
}

/// What a check found; the first part says whether the assumption holds.
type Found = (State, String);

fn holds(found: impl Into<String>) -> Result<Found, StoreError> {
    Ok((State::Holds, found.into()))
}

fn broken(found: impl Into<String>) -> Result<Found, StoreError> {
    Ok((State::DoesNotHold, found.into()))
}

fn unknown(found: impl Into<String>) -> Result<Found, StoreError> {
    Ok((State::Unknown, found.into()))
}

/// Makes one check. What fails or takes too long does not hold, unless it could not be tried for want of
/// rights, which a check of its own reports.
async fn check(
    assumption: &'static str,
    follows: &'static str,
    look: impl Future<Output = Result<Found, StoreError>>,
) -> Check {
    let (state, found) = match clock::within(DOCTOR_CHECK_MS, look).await {
        Some(Ok(found)) => found,
        Some(Err(error)) => match Cause::of(&error) {
            Cause::Rights => (State::Unknown, Chain(&error).to_string()),
            _ => (State::DoesNotHold, Chain(&error).to_string()),
        },
        None => (State::DoesNotHold, format!("no answer within {} s", DOCTOR_CHECK_MS / 1000)),
    };
    let follows = (state == State::DoesNotHold).then_some(follows);
    Check { assumption, state, found, follows }
}

/// Makes all checks. Those of different services go on at the same time.
pub async fn diagnose(doctor: &Doctor, valkey: &Valkey, now_ms: u64) -> Diagnosis {
    let (of_valkey, login, of_tables, of_queue) = futures::join!(
        of_valkey(valkey),
        of_login(doctor),
        of_tables(&doctor.tables, now_ms),
        of_queue(&doctor.queue)
    );
    let checks: Vec<Check> =
        of_valkey.into_iter().chain([login]).chain(of_tables).chain(of_queue).collect();
    for check in checks.iter().filter(|check| check.state == State::DoesNotHold) {
        tracing::warn!(check.assumption, check.found, "an assumption does not hold");
    }
    Diagnosis { checks }
}

/// First whether Valkey answers: the other checks would only wait for the same answer.
async fn of_valkey(valkey: &Valkey) -> Vec<Check> {
    // a bucket of a shard that answers
    let mut answers = None;
    let reached = check(
        "Valkey answers",
        "Pages are read from DynamoDB, and posts wait in their queues. Look at the security groups, \
         REDIS_URL, the user's login, and the nodes.",
        async {
            let before_ms = clock::now_ms();
            let pings = valkey.ping_each().await;
            let took_ms = clock::now_ms().saturating_sub(before_ms);
            // a refusal is an answer, too
            let all = pings.len();
            let is_silent = |ping: &Result<(), StoreError>| {
                ping.as_ref().is_err_and(|error| Cause::of(error) == Cause::Other)
            };
            let (silent, heard): (Vec<_>, Vec<_>) =
                pings.into_iter().partition(|(_, ping)| is_silent(ping));
            answers = heard.first().map(|(bucket, _)| *bucket);
            match silent.first() {
                Some((_, Err(error))) => {
                    let (count, why) = (silent.len(), Chain(error));
                    broken(format!("not for {count} of {all} buckets: {why}"))
                }
                _ => holds(format!("for {all} buckets, within {took_ms} ms")),
            }
        },
    )
    .await;
    let ask =
        async |assumption, follows, look: BoxFuture<'_, Result<Found, StoreError>>| match answers {
            Some(_) => check(assumption, follows, look).await,
            None => check(assumption, follows, async { unknown("Valkey does not answer") }).await,
        };
    let bucket = answers.unwrap_or_default();
    let (commands, writes, role, eviction, arguments, script) = futures::join!(
        ask(
            "Valkey lets the functions run every command that they use",
            "Whatever needs the command fails. Give the user the access string of infra/cache.yaml.",
            Box::pin(commands(valkey, bucket)),
        ),
        ask(
            "Valkey takes writes",
            "Feeds are read from DynamoDB, and posts wait in their queues. If it is full, make room (the runbook \
             says how, at valkey-memory). If it is a replica, let REDIS_URL name the primary.",
            Box::pin(writes(valkey)),
        ),
        ask(
            "a script learns the server's role and replication id",
            "After a fail-over that loses writes, feeds may lack posts until the audit finds them, and a \
             late push may reach somebody who has unfollowed the author. Use ValkeyKind=cluster.",
            Box::pin(role(valkey)),
        ),
        ask(
            "a full Valkey evicts nothing that a rule relies on",
            "A full server forgets feeds, relations and memories in part, so feeds may be wrong until the \
             audit finds them. Set maxmemory-policy to volatile-lru or noeviction.",
            Box::pin(eviction(valkey)),
        ),
        ask(
            "Valkey takes the longest call of a script",
            "Long rebuilds and pushes fail. Lower FeedCap.",
            Box::pin(async {
                let (arrived, sent) = valkey.longest_call(bucket).await?;
                match arrived == sent {
                    true => holds(format!("{VALKEY_ARGUMENTS_MAX} arguments")),
                    false => broken(format!("{arrived} of {sent} arguments arrived")),
                }
            }),
        ),
        ask(
            "Valkey says when it does not know a script, and then takes its text",
            "After a restart of the server, no script runs. Feeds are read from DynamoDB.",
            Box::pin(async {
                match valkey.unknown_script(bucket).await? {
                    UnknownScript::Learned => holds("NOSCRIPT, and then the answer"),
                    UnknownScript::Forgotten => holds("it forgets scripts: calls are sent twice"),
                    UnknownScript::Other(what) => broken(what),
                }
            }),
        ),
    );
    vec![reached, commands, writes, role, eviction, arguments, script]
}

async fn commands(valkey: &Valkey, bucket: u16) -> Result<Found, StoreError> {
    let refused = valkey.refused_commands(bucket).await?;
    let (rights, others): (Vec<_>, Vec<_>) =
        refused.iter().partition(|refused| Cause::of_text(refused) == Cause::Rights);
    match (rights.first(), others.first()) {
        (Some(first), _) => broken(format!("{first} (and {} more)", rights.len() - 1)),
        (None, Some(first)) => unknown(format!("not tried to the end: {first}")),
        (None, None) => holds("every command, on every kind of key"),
    }
}

async fn writes(valkey: &Valkey) -> Result<Found, StoreError> {
    let writes = valkey.write_each().await;
    let failed: Vec<&StoreError> = writes.iter().filter_map(|write| write.as_ref().err()).collect();
    let Some(first) = failed.first() else { return holds(format!("in {} buckets", writes.len())) };
    let why = match Cause::of(first) {
        Cause::Rights => return unknown(Chain(*first).to_string()),
        Cause::Full => "the server is full: ",
        Cause::ReadOnly => "the server is a replica: ",
        Cause::Other => "",
    };
    broken(format!("not in {} of {} buckets: {why}{}", failed.len(), writes.len(), Chain(*first)))
}

/// The worst that any shard tells, in the order of `State`.
fn worst(
    infos: Vec<Result<ScriptInfo, StoreError>>,
    judge: impl Fn(&ScriptInfo) -> Found,
) -> Result<Found, StoreError> {
    let mut worst: Option<Found> = None;
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

async fn role(valkey: &Valkey) -> Result<Found, StoreError> {
    worst(valkey.info_each("replication").await, |info| {
        match (info, info.field("role"), info.field("master_replid")) {
            (_, Some("master"), Some(id)) if id.len() >= 8 => {
                (State::Holds, "a primary with an id".to_owned())
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

async fn eviction(valkey: &Valkey) -> Result<Found, StoreError> {
    worst(valkey.info_each("memory").await, |info| match info.field("maxmemory_policy") {
        Some(policy) if policy.starts_with("allkeys-") => (State::DoesNotHold, policy.to_owned()),
        Some(policy) => (State::Holds, policy.to_owned()),
        None => (State::Unknown, "INFO memory shows no maxmemory_policy".to_owned()),
    })
}

/// On a connection of its own, so that it is made where the login is what keeps Valkey from answering.
async fn of_login(doctor: &Doctor) -> Check {
    check(
        "the functions log in to Valkey with IAM, and again on an open connection",
        "A connection is refused, or ends after 12 hours. Look at ConnectToCache, REDIS_IAM_CACHE, \
         REDIS_IAM_KIND, and the cache's user group.",
        async {
            match log_in_twice(&doctor.sdk, &doctor.settings).await? {
                true => holds("two logins"),
                false => unknown("IAM is not used here (REDIS_IAM_CACHE is empty)"),
            }
        },
    )
    .await
}

async fn of_tables(tables: &TableProbe, now_ms: u64) -> Vec<Check> {
    let reached = check(
        "DynamoDB answers for each table",
        "The API answers 503, and messages wait. Look at the gateway endpoint, its policy, and the \
         functions' policies.",
        async {
            tables.read_each().await?;
            holds("three tables")
        },
    );
    let transaction = check(
        "DynamoDB writes transactions, and says which condition failed",
        "Posts and follows are refused, or written twice. Look at the endpoint's policy and at \
         the functions' policies.",
        async {
            match tables.transact(now_ms).await? {
                true => holds("written, refused the second time, deleted"),
                false => broken("the second transaction was not refused for both items"),
            }
        },
    );
    let (reached, transaction) = futures::join!(reached, transaction);
    vec![reached, transaction]
}

async fn of_queue(queue: &QueueProbe) -> Vec<Check> {
    let mut apart_ms = None;
    let delivered = check(
        "SQS takes a message and gives it back",
        "Posts and follows are refused, or reach nobody. Look at the interface endpoint, its policy, and \
         the functions' policies.",
        async {
            apart_ms = queue.send_and_receive().await?;
            match apart_ms {
                Some(_) => holds("sent, received, deleted"),
                None => broken("the message that was sent did not arrive"),
            }
        },
    )
    .await;
    let clocks = check(
        "the clocks of the functions and of AWS agree",
        "A push that was cut before an unfollow may count as newer, so a reader may see posts of somebody \
         they have unfollowed. Look at the clock of the machine that runs the functions.",
        async { clocks(apart_ms) },
    )
    .await;
    vec![delivered, clocks]
}

/// Two functions may differ in opposite directions, so each may differ by half.
fn clocks(apart_ms: Option<u64>) -> Result<Found, StoreError> {
    match apart_ms {
        None => unknown("SQS did not tell its time"),
        Some(ms) if ms <= CLOCKS_DIFFER_MS / 2 => holds(format!("within {} ms", ms + 1)),
        Some(ms) => broken(format!("{ms} ms apart")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_may_differ_by_half_of_what_pushes_allow_for() {
        let state = |apart_ms| clocks(apart_ms).map(|found| found.0);
        assert!(matches!(state(Some(CLOCKS_DIFFER_MS / 2)), Ok(State::Holds)));
        assert!(matches!(state(Some(CLOCKS_DIFFER_MS / 2 + 1)), Ok(State::DoesNotHold)));
        assert!(matches!(state(None), Ok(State::Unknown)));
    }
}
