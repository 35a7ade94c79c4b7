//! `cargo local` and `cargo local exec`.

use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::base::failure::{Doing as _, Done, failure};
use crate::base::{place, process};
use crate::launch::build::Build;
use crate::launch::demo::{Demo, Life};
use crate::launch::system::{Start, System};
use crate::launch::{Exec, Up, ports};
use crate::operate::{self, RUNS};

/// Runs the system until Ctrl-C.
pub fn up(options: Up, demo: Demo) -> Done<ExitCode> {
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    let mut system = System::start(Start {
        up: options,
        quiet: false,
        build: Build::Dev,
        parameters: Vec::new(),
    })?;
    let life = Life::start(&system, demo)?;
    let run = system.begin_run(&operate::runs())?;
    let env_file = system.write_env_file(&run.folder().join("functions.env"))?;
    system.write_sam_file(&run.folder().join("sam-env.json"))?;
    println!("{}", welcome(&system, &life, &env_file.display().to_string()));
    let ended = loop {
        if process::interrupted() {
            break Ok(ExitCode::SUCCESS);
        }
        if let Some(what) = system.servers.ended() {
            break Err(failure(what));
        }
        life.report();
        std::thread::sleep(Duration::from_millis(100));
    };
    eprintln!("\nStopping …");
    life.end();
    // other commands must not look for a system that has ended
    drop(run);
    drop(system);
    life.wait();
    ended
}

fn welcome(system: &System, life: &Life, env_file: &str) -> String {
    let servers = &system.servers;
    let url = &servers.url;
    // another system has the usual port
    let at = match servers.port {
        ports::API => String::new(),
        port => format!(" --port {port}"),
    };
    format!(
        "
Fanfold is running.
  Page    {url}/ (open this in a browser)
  API     {url}
  AWS     {}
  Valkey  {}
  People  {}

A token: cargo local token ash{at}        (another name makes a new user, who starts with PUT /v1/me)

Try it, from this folder:

TOKEN=$(cargo local token ash{at})
curl -s -H \"Authorization: Bearer $TOKEN\" '{url}/v1/timeline'
curl -s -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' -d '{{\"text\":\"Hello!\"}}' '{url}/v1/posts'
curl -s -H \"Authorization: Bearer $(cargo local token birch{at})\" '{url}/v1/timeline?limit=3'

Functions that reload when you edit them: cargo lambda watch --features dev-build --env-file {env_file}
Ctrl-C stops everything.",
        servers.endpoint,
        servers.redis_url,
        life.people()
    )
}

/// Starts a separate system, and runs a command with it.
pub fn exec(exec: &Exec) -> Done<ExitCode> {
    let (program, arguments) =
        exec.command.split_first().ok_or_else(|| failure("exec needs a command: exec -- CMD …"))?;
    process::find_program(program)?;
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    let up = Up { port: None, aws_port: None, valkey_port: None, containers: None };
    let system =
        System::start(Start { up, quiet: true, build: Build::Dev, parameters: Vec::new() })?;
    let mut command = Command::new(program);
    command.args(arguments);
    system.environment(&mut command)?;
    // `cargo local token` and the like then find this system
    let runs = system.servers.folder().join("runs");
    let _run = system.begin_run(&runs)?;
    command.env(RUNS, runs);
    Ok(ExitCode::from(process::run_for_user(command)?))
}
