//! Lambda's side of a function: hands out one invocation, and notes when it was asked and answered.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::function::Function;

pub struct RuntimeApi {
    pub address: String,
    asked: Receiver<Instant>,
    answered: Receiver<(Instant, Instant, String)>,
}

impl RuntimeApi {
    /// With one event to hand out, or none: then the function waits.
    pub fn start(event: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let ((ask, asked), (answer, answered)) = (channel(), channel());
        let event = Arc::new(event);
        let given = Arc::new(std::sync::Mutex::new(None));
        std::thread::spawn(move || {
            // until the function is gone; a later one has an address of its own
            for stream in listener.incoming().flatten().take(8) {
                let line = Line {
                    ask: ask.clone(),
                    answer: answer.clone(),
                    event: event.clone(),
                    given: given.clone(),
                };
                std::thread::spawn(move || line.serve(stream));
            }
        });
        Self { address, asked, answered }
    }

    /// When the function first asked for work.
    pub fn asked(&self, function: &mut Function) -> Instant {
        wait(&self.asked, function)
    }

    /// When the invocation was handed over, when it was answered, and the answer.
    pub fn answered(&self, function: &mut Function) -> (Instant, Instant, String) {
        wait(&self.answered, function)
    }
}

fn wait<T>(from: &Receiver<T>, function: &mut Function) -> T {
    let start = Instant::now();
    loop {
        match from.recv_timeout(Duration::from_millis(50)) {
            Ok(value) => return value,
            Err(RecvTimeoutError::Disconnected) => {
                panic!("{}: the runtime's side ended", function.name)
            }
            Err(RecvTimeoutError::Timeout) => {
                assert!(!function.has_ended(), "{} ended by itself", function.name);
                assert!(start.elapsed().as_secs() < 20, "{} does not answer", function.name);
            }
        }
    }
}

/// A connection of the function's.
struct Line {
    ask: Sender<Instant>,
    answer: Sender<(Instant, Instant, String)>,
    event: Arc<Option<String>>,
    given: Arc<std::sync::Mutex<Option<Instant>>>,
}

impl Line {
    fn serve(self, stream: TcpStream) {
        let mut to = stream.try_clone().expect("a stream");
        let mut from = BufReader::new(stream);
        while let Some((first, body)) = request(&mut from) {
            let now = Instant::now();
            // nobody listens any more once the figures are taken
            if first.starts_with("POST") && first.contains("/response") {
                let given = self.given.lock().expect("a time").take();
                let _late = self.answer.send((given.unwrap_or(now), now, body));
                return;
            }
            let _late = self.ask.send(now);
            let mut given = self.given.lock().expect("a time");
            let (None, Some(event)) = (&*given, &*self.event) else { return park(from) };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                 Lambda-Runtime-Aws-Request-Id: r1\r\nLambda-Runtime-Deadline-Ms: 9999999999999\r\n\
                 Lambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:us-east-1:0:function:f\r\n\
                 Content-Length: {}\r\n\r\n{event}",
                event.len()
            );
            *given = Some(Instant::now());
            drop(given);
            to.write_all(answer.as_bytes()).expect("an invocation handed over");
        }
    }
}

/// Holds a request for work open until the function is gone.
fn park(mut from: BufReader<TcpStream>) {
    let _end = from.read_to_end(&mut Vec::new());
}

/// A request's first line and its body; none, if the connection is closed.
pub fn request(from: &mut impl std::io::BufRead) -> Option<(String, String)> {
    let (mut first, mut length, mut chunked) = (String::new(), 0, false);
    if from.read_line(&mut first).ok()? == 0 {
        return None;
    }
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let line = line.trim().to_ascii_lowercase();
        match line.split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().ok()?,
            Some(("transfer-encoding", _)) => chunked = true,
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    if chunked {
        while !body.ends_with(b"0\r\n\r\n") {
            let read = from.fill_buf().ok()?.to_vec();
            from.consume(read.len());
            body.extend(&read);
        }
    } else {
        from.read_exact(&mut body).ok()?;
    }
    Some((first, String::from_utf8_lossy(&body).into_owned()))
}
