//! The machine that runs the tool.

use crate::base::failure::{Done, failure};

/// The machines that can run the local system: operating system and processor, as Rust names them.
const SUPPORTED: [(&str, &str); 4] =
    [("linux", "x86_64"), ("linux", "aarch64"), ("macos", "x86_64"), ("macos", "aarch64")];

/// Fails on a machine that cannot run the local system.
pub fn check() -> Done<()> {
    check_machine(std::env::consts::OS, std::env::consts::ARCH)?;
    check_library(cfg!(target_env = "musl"))
}

/// The Python packages of Valkey and cargo-lambda are for glibc.
fn check_library(is_musl: bool) -> Done<()> {
    if !is_musl {
        return Ok(());
    }
    Err(failure(
        "Linux with musl is not supported; use a distribution with glibc, such as Debian, or a container with one",
    ))
}

fn check_machine(os: &str, arch: &str) -> Done<()> {
    if SUPPORTED.contains(&(os, arch)) {
        return Ok(());
    }
    Err(failure(format!(
        "{os} on {arch} is not supported; use Linux or macOS on x86_64 or ARM64, or a container with one of them"
    )))
}

/// The processor of this machine, as Lambda names it.
pub fn lambda_architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" }
}

/// Whether this machine runs Linux, like Lambda. Only on Linux can a release binary for Lambda be built without a cross
/// compiler, and run.
pub const IS_LINUX: bool = cfg!(target_os = "linux");

#[cfg(test)]
mod tests {
    use super::{check_library, check_machine};

    #[test]
    fn an_unsupported_machine_is_named_in_one_line() {
        assert!(
            check_machine("linux", "aarch64").is_ok() && check_machine("macos", "x86_64").is_ok()
        );
        for (os, arch) in [("freebsd", "x86_64"), ("linux", "riscv64")] {
            let said = check_machine(os, arch).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{os} on {arch} is not supported")), "{said}");
            assert_eq!(said.lines().count(), 1);
        }
        assert!(check_library(false).is_ok());
        assert!(check_library(true).unwrap_err().to_string().starts_with("Linux with musl"));
    }
}
