//! The command line. Arguments are checked before a server is started or a running system is looked for.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fanfold_core::Handle;

use crate::base::failure::Done;
use crate::base::{host, place, process};
use crate::{bench, launch, operate, test};

/// Runs Fanfold on this machine
#[derive(Parser)]
#[command(
    name = "cargo local",
    bin_name = "cargo local",
    version,
    args_conflicts_with_subcommands = true
)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    up: launch::Up,
    #[command(flatten)]
    demo: launch::Demo,
}

#[derive(Subcommand)]
enum Command {
    /// Start a separate system, run a command with it, and exit with the command's status
    Exec(launch::Exec),
    /// Print a token for a user of the running system
    Token {
        /// The handle of a demo user, such as ash, or another one for a new user
        name: Handle,
        #[command(flatten)]
        here: operate::Here,
    },
    /// Run every test, or those that the options select
    Test(test::Test),
    /// Measure, and compare with baselines and limits of the same run; writes figures and a plot to target/bench
    Bench(bench::Bench),
    #[command(flatten)]
    Order(operate::Order),
    /// Write the description of the API, openapi.json, and the routes of the template from the handlers
    Openapi,
}

/// Reads the command line and does what it says.
pub fn run() -> ExitCode {
    let options = Options::parse();
    process::watch_signals();
    match host::check().and_then(|()| place::check()).and_then(|()| command(options)) {
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

fn command(options: Options) -> Done<ExitCode> {
    match options.command {
        None => launch::up(options.up, options.demo),
        Some(Command::Exec(exec)) => launch::exec(&exec),
        Some(Command::Token { name, here }) => operate::token(&name, &here),
        Some(Command::Order(order)) => operate::order(order),
        Some(Command::Test(test)) => test::run(&test),
        Some(Command::Bench(bench)) => bench::run(&bench),
        Some(Command::Openapi) => test::write_openapi(),
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use clap::{CommandFactory as _, Parser as _};

    use super::Options;

    fn refused(line: &str) -> (ErrorKind, String) {
        let words = line.split(' ');
        let error =
            Options::try_parse_from(words).err().unwrap_or_else(|| panic!("{line} is taken"));
        (error.kind(), error.to_string())
    }

    #[test]
    fn the_options_are_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn arguments_are_checked_before_a_system_is_looked_for() {
        let (kind, said) = refused("local redrive nonsense");
        assert_eq!(kind, ErrorKind::InvalidValue);
        assert!(said.contains("nonsense") && said.contains("change-events"), "{said}");
        for line in
            ["local rebuild ash", "local drop ash --yes", "local rebuild @", "local rebuild 12"]
        {
            let (kind, said) = refused(line);
            assert_eq!(kind, ErrorKind::ValueValidation, "{line}");
            assert!(said.contains("@ and a handle"), "{said}");
        }
        let (kind, said) = refused("local drop @ash");
        assert_eq!(kind, ErrorKind::MissingRequiredArgument);
        assert!(said.contains("--yes"), "{said}");
        for name in ["Ash", "a-b", "@ash", ""] {
            let (kind, said) = refused(&format!("local token {name}"));
            assert_eq!(kind, ErrorKind::ValueValidation, "{name}");
            assert!(said.contains("handle must have 1 to 30 characters"), "{said}");
        }
        // an option of `cargo local` before a command would be without effect
        for line in ["local --port 4270 doctor", "local doctor --port 4270 --stack fanfold"] {
            assert_eq!(refused(line).0, ErrorKind::ArgumentConflict, "{line}");
        }
        assert_eq!(refused("local bench speed").0, ErrorKind::InvalidValue);
        assert_eq!(refused("local test --soak 10x").0, ErrorKind::ValueValidation);
        assert_eq!(refused("local test --soak 0s").0, ErrorKind::ValueValidation);
        assert_eq!(refused("local --port 0").0, ErrorKind::ValueValidation);
        for line in
            ["--people 0", "--people 1001", "--posts-per-minute 0", "--posts-per-minute 601"]
        {
            let (kind, said) = refused(&format!("local {line}"));
            assert_eq!(kind, ErrorKind::ValueValidation, "{line}");
            assert!(said.contains(line.split(' ').next().unwrap_or_default()), "{said}");
        }
        assert_eq!(refused("local exec").0, ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn orders_are_taken() {
        for line in [
            "local redrive change-events",
            "local rebuild @ash",
            "local rebuild 0123456789abcdef --stack fanfold --region eu-central-1",
            "local drop @ash --yes",
            "local token ash --port 4271",
            "local doctor --port 4271",
            "local test --soak 10m",
            "local bench start cost --quick",
            "local exec -- sh -c true",
            "local --port 4270 --aws-port 4566",
            "local --people 50 --posts-per-minute 30",
            "local --people 1000 --posts-per-minute 600",
            "local --people 1",
        ] {
            assert!(Options::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
    }
}
