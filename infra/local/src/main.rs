//! `cargo local`: the whole system on one machine, and every test.
//!
//! | module | does |
//! | --- | --- |
//! | [`tools`] | keeps the Python tools in an environment of their own |
//! | [`process`] | starts and stops programs, and leaves none behind |
//! | [`system`] | Valkey, the local cloud, the built functions and the deployed stack |
//! | [`demo`] | a few users, follows and posts, made through the public API |
//! | [`admin`] | what operators order, here or of a stack on AWS |
//! | [`test`] | every test |
//! | [`bench`] | every figure |

mod admin;
mod bench;
mod build;
mod cloud;
mod cognito;
mod commands;
mod demo;
mod engine;
mod failure;
mod forward;
mod http;
mod place;
mod ports;
mod process;
mod progress;
mod running;
mod stack;
mod system;
mod test;
mod tools;
mod valkey;

use std::net::IpAddr;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// The whole of Fanfold on this machine
#[derive(Parser)]
#[command(name = "cargo local", bin_name = "cargo local", version)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    up: Up,
}

#[derive(Args)]
struct Up {
    /// Port of the API and of all AWS services (default: a free one)
    #[arg(long)]
    port: Option<u16>,
    /// Port of Valkey (default: a free one)
    #[arg(long)]
    valkey_port: Option<u16>,
    /// Let containers in at this address of the engine's bridge, often 172.17.0.1 (for `sam local`)
    #[arg(long, value_name = "ADDRESS")]
    containers: Option<IpAddr>,
}

#[derive(Args)]
struct Test {
    /// Only those tests of the running stack whose name holds this
    filter: Option<String>,
    /// Only the simulation, with new histories for so long: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = test::seconds, conflicts_with = "filter")]
    soak: Option<u64>,
    /// Only the fault run: the deployed stack under load, while its parts are disturbed
    #[arg(long, conflicts_with_all = ["filter", "soak"])]
    faults: bool,
}

#[derive(Args)]
struct Bench {
    /// Only these: deliver, fanout, sizes, read, rebuild, start, cost
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Fewer repetitions: all of it within a minute, once it is built
    #[arg(long)]
    quick: bool,
    /// Put the new plot where README shows it
    #[arg(long, conflicts_with = "names")]
    publish: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run a command with the system up on free ports, and end with its status
    Exec {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Print a token for a demo user of the running system
    Token { name: String },
    /// Run every test
    Test(Test),
    /// Measure, beside baselines and limits of the same run; writes figures and a plot to target/bench
    Bench(Bench),
    /// Give the feeds of a user (an id, or @ and a handle) up, and rebuild them
    Rebuild {
        user: String,
        #[command(flatten)]
        at: admin::At,
    },
    /// Remove all that is stored of a user (an id, or @ and a handle)
    Drop {
        user: String,
        /// It is meant: nothing of it comes back
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        at: admin::At,
    },
    /// Bring the dead letters of a queue back: post-events, chunks, bulk-events, bulk-chunks,
    /// graph-events or rebuilds
    Redrive {
        queue: String,
        #[command(flatten)]
        at: admin::At,
    },
    /// Check what the system assumes about Valkey, DynamoDB, SQS and clocks; fails if anything does not hold
    Doctor {
        #[command(flatten)]
        at: admin::At,
    },
    /// Begin a new memory of Valkey: every feed is rebuilt when its reader comes
    BeginMemory {
        #[command(flatten)]
        at: admin::At,
    },
    /// Write shared/store/openapi.json anew from the handlers
    Openapi,
}

fn main() -> ExitCode {
    let options = Options::parse();
    process::watch_signals();
    let done = match options.command {
        None => commands::up(options.up),
        Some(Command::Exec { command }) => commands::exec(&command),
        Some(Command::Token { name }) => commands::token(&name),
        Some(Command::Openapi) => commands::openapi(),
        Some(Command::Rebuild { user, at }) => admin::rebuild(&user, at),
        Some(Command::Drop { user, yes, at }) => admin::drop_user(&user, yes, at),
        Some(Command::Doctor { at }) => admin::doctor(at),
        Some(Command::BeginMemory { at }) => admin::begin_memory(at),
        Some(Command::Redrive { queue, at }) => admin::redrive(&queue, at),
        Some(Command::Test(test)) => test::run(&test),
        Some(Command::Bench(bench)) => bench::run(&bench),
    };
    match done {
        Ok(code) => code,
        Err(_) if process::interrupted() => {
            eprintln!("cargo local: stopped");
            ExitCode::from(130)
        }
        Err(failure) => {
            eprintln!("cargo local: {failure}");
            ExitCode::FAILURE
        }
    }
}
