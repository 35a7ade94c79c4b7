//! Ports of this machine.

use std::net::{Ipv4Addr, TcpListener};

use crate::failure::{Doing as _, Done, failure};

/// The given port, if nobody listens there, or a free one.
pub fn choose(given: Option<u16>, option: &str) -> Done<u16> {
    match given {
        Some(port) => match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => Ok(port),
            Err(error) => Err(failure(format!("port {port} ({option}) cannot be used: {error}"))),
        },
        None => {
            let listener =
                TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing("looking for a free port")?;
            Ok(listener.local_addr().doing("looking for a free port")?.port())
        }
    }
}
