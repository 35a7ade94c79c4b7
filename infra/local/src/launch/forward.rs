//! Lets containers connect: forwards connections from an address of the container engine's bridge to the same port of
//! 127.0.0.1, where the servers listen.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use crate::base::failure::{Done, failure};
use crate::launch::ports;

/// Forwards until the process ends. `option` sets the port.
pub fn start(from: IpAddr, port: u16, option: &str) -> Done<()> {
    let listener = TcpListener::bind((from, port)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => ports::busy(port, option, &error),
        _ => failure(format!(
            "{from} (--containers) cannot be used: {error}; give the address of the container engine's bridge"
        )),
    })?;
    thread::spawn(move || {
        for incoming in listener.incoming().flatten() {
            // after a failure, the container connects again
            let _passed = pass_on(incoming, port);
        }
    });
    Ok(())
}

fn pass_on(incoming: TcpStream, port: u16) -> io::Result<()> {
    let outgoing = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    let (back, forth) = (outgoing.try_clone()?, incoming.try_clone()?);
    thread::spawn(move || copy(back, forth));
    thread::spawn(move || copy(incoming, outgoing));
    Ok(())
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _copied = io::copy(&mut from, &mut to);
    let _ended = to.shutdown(Shutdown::Write);
}
