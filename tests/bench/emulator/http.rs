//! The emulator over HTTP, for functions in processes of their own.

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};

use super::Emulator;
use crate::http::{request, respond};

impl Emulator {
    /// Answers calls on a free port for the life of this process. Returns the URL.
    pub fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let emulator = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let emulator = emulator.clone();
                std::thread::spawn(move || emulator.serve_connection(stream));
            }
        });
        format!("http://{address}")
    }

    fn serve_connection(&self, mut to: TcpStream) {
        to.set_nodelay(true).expect("a stream");
        let mut from = BufReader::new(to.try_clone().expect("a stream"));
        while let Some(request) = request(&mut from) {
            let begun = self.begin(&request.target);
            if !begun.delay.is_zero() {
                std::thread::sleep(begun.delay);
            }
            let (status, body) = self.answer(&begun, &request.target, request.body.as_bytes());
            let kind = [("Content-Type", "application/x-amz-json-1.0")];
            if respond(&mut to, status, &kind, &body).is_err() {
                return; // the function has ended
            }
        }
    }
}
