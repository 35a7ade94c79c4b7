//! Checks, on the deployed system, what cannot be checked before it is deployed: each assumption that the
//! rest of the code makes about Valkey, DynamoDB, SQS and clocks.

use fanfold_core::limits::{CLOCKS_DIFFER_MS, DOCTOR_CHECK_MS, VALKEY_ARGUMENTS_MAX};
use fanfold_store::aws::SdkConfig;
use fanfold_store::config::{ConfigError, FeedSettings};
use fanfold_store::dynamo::TableProbe;
use fanfold_store::log::Chain;
use fanfold_store::sqs::QueueProbe;
use fanfold_store::valkey::Valkey;
use fanfold_store::valkey::probe::{Told, Unknown, log_in_twice};
use fanfold_store::{Config, StoreError, clock};
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

/// Makes one check. What fails or takes too long does not hold.
async fn check(
    assumption: &'static str,
    follows: &'static str,
    look: impl Future<Output = Result<Found, StoreError>>,
) -> Check {
    let (state, found) = match clock::within(DOCTOR_CHECK_MS, look).await {
        Some(Ok(found)) => found,
        Some(Err(error)) => (State::DoesNotHold, Chain(&error).to_string()),
        None => (State::DoesNotHold, format!("no answer within {} s", DOCTOR_CHECK_MS / 1000)),
    };
    let follows = (state == State::DoesNotHold).then_some(follows);
    Check { assumption, state, found, follows }
}

/// Makes all checks. Those of different services go on at the same time.
pub async fn diagnose(doctor: &Doctor, valkey: &Valkey) -> Diagnosis {
    let (of_valkey, of_tables, of_queue) = futures::join!(
        of_valkey(doctor, valkey),
        of_tables(&doctor.tables),
        of_queue(&doctor.queue)
    );
    let checks: Vec<Check> = of_valkey.into_iter().chain(of_tables).chain(of_queue).collect();
    for check in checks.iter().filter(|check| check.state == State::DoesNotHold) {
        tracing::warn!(check.assumption, check.found, "an assumption does not hold");
    }
    Diagnosis { checks }
}

async fn of_valkey(doctor: &Doctor, valkey: &Valkey) -> Vec<Check> {
    let reached = check(
        "Valkey answers",
        "Pages are read from DynamoDB, and posts wait in their queues. Look at the security groups, \
         REDIS_URL, and the user's login.",
        async {
            let before_ms = clock::now_ms();
            valkey.ping().await?;
            holds(format!("within {} ms", clock::now_ms().saturating_sub(before_ms)))
        },
    )
    .await;
    let is_reached = reached.state == State::Holds;
    let mut checks = vec![reached];
    // each of these would only wait for the same answer
    let ask = async |assumption, follows, look: futures::future::BoxFuture<'_, _>| match is_reached
    {
        true => check(assumption, follows, look).await,
        false => check(assumption, follows, async { unknown("Valkey does not answer") }).await,
    };
    checks.push(
        ask(
            "Valkey lets the functions run every command that they use",
            "Whatever needs the command fails. Give the user the access string of infra/cache.yaml.",
            Box::pin(user(valkey)),
        )
        .await,
    );
    checks.push(
        ask(
            "a script learns the server's role and replication id",
            "After a fail-over that loses writes, feeds may lack posts until the audit finds them, and a \
             late push may reach somebody who has unfollowed the author. Use ValkeyKind=cluster.",
            Box::pin(role(valkey)),
        )
        .await,
    );
    checks.push(
        ask(
            "a full Valkey evicts nothing that a rule relies on",
            "A full server forgets feeds, relations and memories in part, so feeds may be wrong until the \
             audit finds them. Set maxmemory-policy to volatile-lru or noeviction.",
            Box::pin(eviction(valkey)),
        )
        .await,
    );
    checks.push(
        ask(
            "Valkey takes the longest call of a script",
            "Long rebuilds and pushes fail. Lower FeedCap.",
            Box::pin(async {
                let (arrived, sent) = valkey.longest_call().await?;
                match arrived == sent {
                    true => holds(format!("{VALKEY_ARGUMENTS_MAX} arguments")),
                    false => broken(format!("{arrived} of {sent} arguments arrived")),
                }
            }),
        )
        .await,
    );
    checks.push(
        ask(
            "Valkey says when it does not know a script, and then takes its text",
            "After a restart of the server, no script runs. Feeds are read from DynamoDB.",
            Box::pin(async {
                match valkey.unknown_script().await? {
                    Unknown::Answered => holds("NOSCRIPT, and then the answer"),
                    Unknown::Other(what) => broken(what),
                }
            }),
        )
        .await,
    );
    checks.push(
        ask(
            "the functions log in to Valkey with IAM, and again on an open connection",
            "A connection is refused, or ends after 12 hours. Look at ConnectToCache, REDIS_IAM_CACHE, \
             REDIS_IAM_KIND, and the cache's user group.",
            Box::pin(async {
                match log_in_twice(&doctor.sdk, &doctor.settings).await? {
                    true => holds("two logins"),
                    false => unknown("IAM is not used here (REDIS_IAM_CACHE is empty)"),
                }
            }),
        )
        .await,
    );
    checks
}

async fn user(valkey: &Valkey) -> Result<Found, StoreError> {
    let refused = valkey.refused_commands().await?;
    match refused.as_slice() {
        [] => holds("every command, on every kind of key"),
        [first, others @ ..] => broken(format!("{first} (and {} more)", others.len())),
    }
}

async fn role(valkey: &Valkey) -> Result<Found, StoreError> {
    let told = valkey.info_in_script("replication").await?;
    match (&told, told.field("role"), told.field("master_replid")) {
        (_, Some("master"), Some(id)) if id.len() >= 8 => holds("a primary with an id"),
        (_, Some(role), _) if role != "master" => {
            broken(format!("the server that answers is a replica (role:{role})"))
        }
        (Told::Refused(reason), ..) => broken(format!("INFO is refused in scripts: {reason}")),
        (_, None, _) => broken("INFO replication shows no role"),
        _ => broken("INFO replication shows no master_replid"),
    }
}

async fn eviction(valkey: &Valkey) -> Result<Found, StoreError> {
    let told = valkey.info_in_script("memory").await?;
    match told.field("maxmemory_policy") {
        Some(policy) if policy.starts_with("allkeys-") => broken(policy),
        Some(policy) => holds(policy),
        None => unknown("INFO memory shows no maxmemory_policy"),
    }
}

async fn of_tables(tables: &TableProbe) -> Vec<Check> {
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
            match tables.transact().await? {
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
        async {
            // two functions may differ in opposite directions
            match apart_ms {
                None => unknown("SQS did not tell its time"),
                Some(ms) if ms <= CLOCKS_DIFFER_MS / 2 => holds(format!("within {} ms", ms + 1)),
                Some(ms) => broken(format!("{ms} ms apart")),
            }
        },
    )
    .await;
    vec![delivered, clocks]
}
