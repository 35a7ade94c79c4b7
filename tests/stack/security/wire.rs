//! Sends requests byte by byte, because a client library would correct malformed ones.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::harness::setting;

/// An answer.
#[derive(Debug)]
pub struct Raw {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Raw {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn problem(&self) -> (u16, String) {
        (self.status, self.json()["type"].as_str().unwrap_or("no problem").to_owned())
    }
}

/// Sends a request with exactly this path, these header lines (each ends with CRLF) and this body.
pub fn send(method: &str, path: &str, head: &[u8], body: &[u8]) -> Raw {
    let url = setting("FANFOLD_URL");
    let host = url.strip_prefix("http://").expect("a URL");
    let mut stream = TcpStream::connect(host).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    let first = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    // the server may not read a request to its end if it refuses it early
    let _written = stream.write_all(&[first.as_bytes(), head, b"\r\n", body].concat());
    let mut answer = Vec::new();
    let _ended = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("the end of a head");
    let body = answer.split_off(end + 4);
    let head = String::from_utf8_lossy(&answer).to_lowercase();
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    Raw { status, body }
}

/// Sends a request with a token, further header lines, and a body with its length.
pub fn send_as(token: &str, method: &str, path: &str, head: &str, body: &[u8]) -> Raw {
    let length = body.len();
    let head = format!("Authorization: Bearer {token}\r\nContent-Length: {length}\r\n{head}");
    send(method, path, head.as_bytes(), body)
}

pub const JSON: &str = "Content-Type: application/json\r\n";
