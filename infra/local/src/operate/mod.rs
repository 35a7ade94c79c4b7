//! Operators' and developers' commands for a running system, here or on AWS.
//!
//! | module | does |
//! | --- | --- |
//! | [`orders`] | sends orders to the function `admin`, and prints its answers |
//! | [`running`] | finds the systems that run on this machine |
//! | [`stack`] | finds a stack on AWS |
//! | [`arguments`] | checks names of users and queues |
//! | [`cognito`] | signs users in |

mod arguments;
mod cognito;
mod orders;
mod running;
mod stack;

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use fanfold_core::Handle;

use crate::base::failure::{Done, failure};
use arguments::{feeds, queues, user};
pub use cognito::{Token, UserPool};
use orders::At;
pub use running::{Here, RUNS, Run, runs};

#[derive(clap::Subcommand)]
pub enum Order {
    /// Drop the feeds of a user, of a tag, or the public feed, and rebuild them
    Rebuild {
        /// A user id, @ and a handle, # and a tag, or public
        #[arg(value_parser = feeds)]
        of: String,
        #[command(flatten)]
        at: At,
    },
    /// Erase a user: profile, posts, relations and feeds
    Drop {
        /// A user id, or @ and a handle
        #[arg(value_parser = user)]
        user: String,
        /// Confirm; this cannot be undone
        #[arg(long, required = true)]
        yes: bool,
        #[command(flatten)]
        at: At,
    },
    /// Print everything that is stored about a user, as lines of JSON
    Export {
        /// A user id, or @ and a handle
        #[arg(value_parser = user)]
        user: String,
        #[command(flatten)]
        at: At,
    },
    /// Move the dead letters of a queue back to the queue, and print the reasons why they failed
    Redrive {
        /// The queue to which its dead letters return
        #[arg(value_parser = PossibleValuesParser::new(queues()))]
        queue: String,
        #[command(flatten)]
        at: At,
    },
    /// Check the system's assumptions about Valkey, DynamoDB, SQS and clocks; fails if an assumption does not hold
    Doctor {
        #[command(flatten)]
        at: At,
    },
    /// Ignore the present data in Valkey: every feed is rebuilt when it is read next
    BeginMemory {
        #[command(flatten)]
        at: At,
    },
}

/// Carries out an order.
pub fn order(order: Order) -> Done<ExitCode> {
    match order {
        Order::Rebuild { of, at } => orders::rebuild(&of, at),
        Order::Drop { user, at, .. } => orders::drop_user(&user, at),
        Order::Export { user, at } => orders::export(&user, at),
        Order::Redrive { queue, at } => orders::redrive(&queue, at),
        Order::Doctor { at } => orders::doctor(at),
        Order::BeginMemory { at } => orders::begin_memory(at),
    }
}

/// Prints a token for a user of the running system.
pub fn token(name: &Handle, here: &Here) -> Done<ExitCode> {
    let (running, name) = (running::Running::find(here)?, name.as_str());
    let pool = running.user_pool()?;
    let token =
        pool.token(name).map_err(|reason| failure(format!("no token for {name}: {reason}")))?;
    println!("{token}");
    Ok(ExitCode::SUCCESS)
}
