//! Ports of this machine.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

use crate::base::failure::{Doing as _, Done, Failure, failure};

/// The port of the API, unless another one is given. No port of a widespread tool is near.
pub const API: u16 = 4270;
/// How many ports after [`API`] are tried.
const TRIES: u16 = 30;

/// The given port, if it is free, or any free one.
pub fn choose(given: Option<u16>, option: &str) -> Done<u16> {
    match given {
        Some(port) => free(port, option),
        None => any(),
    }
}

/// Fails if two options have the same port.
pub fn check_distinct(options: &[(&str, Option<u16>)]) -> Done<()> {
    for (place, (first, port)) in options.iter().enumerate() {
        let same =
            options.iter().skip(place + 1).find(|(_, other)| port.is_some() && other == port);
        if let (Some((second, _)), Some(port)) = (same, port) {
            return Err(failure(format!(
                "{first} and {second} are both {port}; give each its own port"
            )));
        }
    }
    Ok(())
}

/// The given port, if it is free, or the first free one from [`API`] on that is not `reserved`.
pub fn choose_api(given: Option<u16>, reserved: &[u16]) -> Done<u16> {
    let usable = |port: &u16| !reserved.contains(port) && listen(*port).is_ok();
    match given {
        Some(port) => free(port, "--port"),
        None => match (API..API + TRIES).find(usable) {
            Some(port) => Ok(port),
            None => any(),
        },
    }
}

fn free(port: u16, option: &str) -> Done<u16> {
    match listen(port) {
        Ok(()) => Ok(port),
        Err(error) => Err(busy(port, option, &error)),
    }
}

/// The error for a port that an option sets.
pub fn busy(port: u16, option: &str, error: &io::Error) -> Failure {
    failure(format!(
        "port {port} ({option}) cannot be used: {error}; give {option} another port, or leave it out for a free one"
    ))
}

fn any() -> Done<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing("looking for a free port")?;
    Ok(listener.local_addr().doing("looking for a free port")?.port())
}

/// Whether a server could listen on this port of `localhost`, which has two addresses on most machines.
fn listen(port: u16) -> io::Result<()> {
    let _first = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    match TcpListener::bind((Ipv6Addr::LOCALHOST, port)) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        // free, or a machine without IPv6
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_port_must_be_free_and_a_default_port_gives_way() {
        // tests of other processes may take the default ports at the same time, so this has a port of its own
        let busy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let first = busy.local_addr().unwrap().port();
        let default = choose_api(None, &[]).unwrap();
        assert_ne!(choose_api(None, &[default]).unwrap(), default);
        let said = choose_api(Some(first), &[]).unwrap_err().to_string();
        assert!(said.contains(&format!("port {first} (--port) cannot be used")), "{said}");
        assert!(
            said.ends_with("give --port another port, or leave it out for a free one"),
            "{said}"
        );
        drop(busy);
    }

    #[test]
    fn two_options_with_one_port_are_refused() {
        let of = |aws, valkey| {
            check_distinct(&[
                ("--port", Some(4270)),
                ("--aws-port", aws),
                ("--valkey-port", valkey),
            ])
        };
        assert!(of(None, None).is_ok() && of(Some(1), Some(2)).is_ok());
        let said = of(None, Some(4270)).unwrap_err().to_string();
        assert_eq!(said, "--port and --valkey-port are both 4270; give each its own port");
        assert!(
            of(Some(5), Some(5)).unwrap_err().to_string().starts_with("--aws-port and --valkey")
        );
    }
}
