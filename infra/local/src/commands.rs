//! The commands, but for `test`.

use std::process::{Command, ExitCode};

use crate::failure::{Doing as _, Done, failure};
use crate::progress::step;
use crate::running::Running;
use crate::system::{Start, System};
use crate::{Up, demo, place, process};

/// Runs the system until Ctrl-C.
pub fn up(options: Up) -> Done<ExitCode> {
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    let Up { port, valkey_port, containers } = options;
    let mut system = System::start(Start { port, valkey_port, containers, ..Start::default() })?;
    step(false, "making demo users, follows and posts", || demo::fill(&system))?;
    system.announce()?;
    let env_file = system.write_env_file(&place::env_file())?;
    system.write_sam_file(&place::sam_file())?;
    welcome(&system, &env_file.display().to_string())?;
    while !process::interrupted() {
        if let Some(what) = system.ended() {
            return Err(failure(what));
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    eprintln!("\nStopping …");
    // other commands must not look for a system that is gone
    let _gone = std::fs::remove_file(place::state_file());
    drop(system);
    Ok(ExitCode::SUCCESS)
}

fn welcome(system: &System, env_file: &str) -> Done<()> {
    let url = system.url()?;
    println!(
        "
Fanfold is up.
  API     {url}
  AWS     {}
  Valkey  {}
  Users   ash, birch, cedar, dogwood

A token: cargo local token ash        (or any other name: a new user, who begins with PUT /v1/me)

Try it, from this folder:

TOKEN=$(cargo local token ash)
curl -s -H \"Authorization: Bearer $TOKEN\" '{url}/v1/timeline'
curl -s -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' -d '{{\"text\":\"Hello!\"}}' '{url}/v1/posts'
curl -s -H \"Authorization: Bearer $(cargo local token birch)\" '{url}/v1/timeline?limit=3'

Functions that reload as you edit: cargo lambda watch --env-file {env_file}
Ctrl-C stops all of it.",
        system.endpoint, system.redis_url
    );
    Ok(())
}

/// Runs a command with a system of its own.
pub fn exec(command: &[String]) -> Done<ExitCode> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| failure("exec needs a command: exec -- CMD …"))?;
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    let system = System::start(Start { quiet: true, ..Start::default() })?;
    let mut command = Command::new(program);
    command.args(arguments);
    system.environment(&mut command)?;
    let mut child = command.spawn().doing(format!("starting {program}"))?;
    loop {
        if let Some(status) = child.try_wait().doing(program)? {
            return Ok(ExitCode::from(status.code().map_or(1, |code| code as u8)));
        }
        if process::pause().is_err() {
            let _gone = child.kill();
            let _status = child.wait();
            return Ok(ExitCode::from(130));
        }
    }
}

/// Prints a token for a user of the running system.
pub fn token(name: &str) -> Done<ExitCode> {
    let running = Running::find()?;
    let pool = running.user_pool()?;
    let token =
        pool.token(name).map_err(|reason| failure(format!("no token for {name}: {reason}")))?;
    println!("{token}");
    Ok(ExitCode::SUCCESS)
}

/// Writes the specification anew; the test that compares it does the work.
pub fn openapi() -> Done<ExitCode> {
    let mut test = Command::new("cargo");
    test.args(["test", "--quiet", "-p", "fanfold-tests", "--test", "stack", "openapi::the_file"]);
    test.current_dir(place::root()).env("FANFOLD_WRITE_OPENAPI", "1");
    match process::run(test)?.success() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(failure("the specification was not written, for the reason above")),
    }
}
