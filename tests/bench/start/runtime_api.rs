//! The runtime API of Lambda: gives invocations to a function, and records the times of requests and answers.

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::function::Function;
use crate::http::{request, respond};

pub struct RuntimeApi {
    pub address: String,
    events: Sender<String>,
    asked: Receiver<Instant>,
    answered: Receiver<Answer>,
}

/// The answer to an invocation.
pub struct Answer {
    pub given: Instant,
    pub answered: Instant,
    pub body: String,
}

impl Answer {
    /// Milliseconds from the invocation to the answer.
    pub fn ms(&self) -> f64 {
        self.answered.duration_since(self.given).as_secs_f64() * 1e3
    }
}

impl RuntimeApi {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (events, waiting) = channel();
        let ((ask, asked), (answer, answered)) = (channel(), channel());
        let (events_left, given) = (Arc::new(Mutex::new(waiting)), Arc::default());
        let connection = Connection { ask, answer, events: events_left, given };
        std::thread::spawn(move || {
            // for one function, which makes few connections; another one has its own address
            for stream in listener.incoming().flatten().take(8) {
                let connection = connection.clone();
                std::thread::spawn(move || connection.serve(stream));
            }
        });
        Self { address, events, asked, answered }
    }

    /// Waits until the function requests work, and returns the time.
    pub fn asked(&self, function: &mut Function) -> Instant {
        wait(&self.asked, function)
    }

    /// Invokes the function with an event, and waits for the answer.
    pub fn invoke(&self, function: &mut Function, event: &str) -> Answer {
        self.events.send(event.to_owned()).expect("a connection");
        wait(&self.answered, function)
    }
}

fn wait<T>(from: &Receiver<T>, function: &mut Function) -> T {
    let start = Instant::now();
    loop {
        match from.recv_timeout(Duration::from_millis(50)) {
            Ok(value) => return value,
            Err(RecvTimeoutError::Disconnected) => {
                panic!("{}: the runtime API ended", function.name)
            }
            Err(RecvTimeoutError::Timeout) => {
                assert!(!function.has_ended(), "{} ended", function.name);
                assert!(start.elapsed().as_secs() < 20, "{} does not answer", function.name);
            }
        }
    }
}

/// A connection of the function.
#[derive(Clone)]
struct Connection {
    ask: Sender<Instant>,
    answer: Sender<Answer>,
    events: Arc<Mutex<Receiver<String>>>,
    /// The time of the last invocation.
    given: Arc<Mutex<Option<Instant>>>,
}

impl Connection {
    fn serve(self, mut to: TcpStream) {
        to.set_nodelay(true).expect("a stream");
        let mut from = BufReader::new(to.try_clone().expect("a stream"));
        while let Some(request) = request(&mut from) {
            let now = Instant::now();
            let is_served = match request.first_line.starts_with("POST") {
                true => self.take_answer(&mut to, now, request.body),
                false => self.give_event(&mut to, now),
            };
            if is_served.is_none() {
                return;
            }
        }
    }

    fn take_answer(&self, to: &mut TcpStream, answered: Instant, body: String) -> Option<()> {
        let given = self.given.lock().expect("a time").take().unwrap_or(answered);
        // there is no receiver any more after the measurement
        let _late = self.answer.send(Answer { given, answered, body });
        respond(to, 202, &[], b"").ok()
    }

    /// Waits for the next event and passes it to the function. None: the measurement has ended.
    fn give_event(&self, to: &mut TcpStream, now: Instant) -> Option<()> {
        let _late = self.ask.send(now);
        let event = self.events.lock().expect("events").recv().ok()?;
        let headers = [
            ("Content-Type", "application/json"),
            ("Lambda-Runtime-Aws-Request-Id", "r1"),
            ("Lambda-Runtime-Deadline-Ms", "9999999999999"),
            ("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:0:function:f"),
        ];
        *self.given.lock().expect("a time") = Some(Instant::now());
        respond(to, 200, &headers, event.as_bytes()).ok()
    }
}
