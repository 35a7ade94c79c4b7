//! `cargo local`: the whole system on one machine, and every test.
//!
//! | module | does |
//! | --- | --- |
//! | [`base`] | errors, paths, programs and pinned tools |
//! | [`launch`] | starts Valkey, the local cloud, the functions and the deployed stack |
//! | [`operate`] | sends operators' orders to the running system or to a stack on AWS |
//! | [`test`] | runs the tests |
//! | [`bench`] | runs the measurements |

#[cfg(unix)]
mod base;
#[cfg(unix)]
mod bench;
#[cfg(unix)]
mod launch;
#[cfg(unix)]
mod operate;
#[cfg(unix)]
mod options;
#[cfg(unix)]
mod test;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    options::run()
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "cargo local: this operating system is not supported; use Linux or macOS (on Windows: WSL 2)"
    );
    std::process::ExitCode::FAILURE
}
