//! Webhooks: their requests, the answers of receivers, retries and dead letters.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lambda_events::sqs::{SqsEvent, SqsMessage, SqsMessageAttribute};
use fanfold_core::limits::{WEBHOOK_IN_FLIGHT_MAX, WEBHOOK_TRIED_FOR};
use fanfold_core::message::Received as _;
use fanfold_core::registry::WEBHOOKS;
use fanfold_core::{Time, UserId};
use fanfold_kinds::timers::messages::TimerFired;
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_kinds::webhook::{Webhook, deliver};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::Config;
use fanfold_runtime::log::Chain;
use fanfold_runtime::sqs::{Retries, batch};
use fanfold_runtime::{StoreError, clock};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::aws;
use crate::harness::tls::{Authority, Front};
use crate::harness::valkeys::Node;
use crate::harness::world::{Message, World};

const SECRET: &str = "whsec_aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==";
/// Parts of the secret and of the addresses below.
const SECRETS: [&str; 3] = ["hunter2", "aHVudGVy", "/hook"];
const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// A request that a receiver got.
#[derive(Debug, Clone)]
struct Request {
    line: String,
    headers: HeaderMap,
    body: String,
}

impl Request {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).expect(name).to_str().expect("a text")
    }
}

/// A server on this machine. It is gone at the end of its test, with the test's runtime.
struct Receiver {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    /// Starts a receiver that gives the same answer to every request. `None`: it never answers.
    async fn start(answer: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let record = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, answer.clone(), record.clone()));
            }
        });
        Self { port, requests }
    }

    /// An address of the receiver with a token, which must stay secret.
    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/hook/hunter2?token=hunter2", self.port)
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("requests").clone()
    }
}

/// Reads one request and answers it. By hand, because the answers are also ones that no server library would give.
async fn take(stream: TcpStream, answer: Option<String>, requests: Arc<Mutex<Vec<Request>>>) {
    let mut stream = BufReader::new(stream);
    let (mut line, mut headers) = (String::new(), HeaderMap::new());
    stream.read_line(&mut line).await.expect("a first line");
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.expect("a header");
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        let name: HeaderName = name.parse().expect("a name");
        let value: HeaderValue = value.parse().expect("a value");
        assert!(headers.insert(name, value).is_none(), "a header is there twice");
    }
    let length = headers.get("content-length").expect("a length").to_str().expect("a text");
    let mut body = vec![0; length.parse().expect("a number")];
    stream.read_exact(&mut body).await.expect("a body");
    let body = String::from_utf8(body).expect("a text");
    let line = line.trim().to_owned();
    requests.lock().expect("requests").push(Request { line, headers, body });
    match answer {
        // the client may have closed the connection
        Some(answer) => drop(stream.write_all(answer.as_bytes()).await),
        None => std::future::pending().await,
    }
}

fn config(address: &str) -> Config {
    Config::from_pairs([("WEBHOOK_URL", address), ("WEBHOOK_SECRET", SECRET)])
}

fn app(address: &str) -> Webhook {
    Webhook::new(&SdkConfig::builder().build(), &config(address)).expect("a webhook")
}

fn fired(name: &str) -> TimerFired {
    let owner = (UserId(7), name.parse().expect("a name"));
    let payload = json!({"text": "ä \"quoted\" \u{2028}", "list": [1, null]});
    TimerFired::new(owner, "revision", Time::from_ms(1_767_225_600_000), 0, payload)
}

/// Delivers a message. Returns the text of the error, after a check that it shows no secret.
async fn fails(app: &Webhook) -> String {
    let error = deliver(app, &fired("renew"), clock::now()).await;
    let error = error.expect_err("the message was taken");
    assert!(matches!(error, StoreError::Webhook { .. }), "{error:?}");
    let (text, debugged) = (Chain(&error).to_string(), format!("{error:?}"));
    for secret in SECRETS {
        assert!(!text.contains(secret) && !debugged.contains(secret), "{text} {debugged}");
    }
    text
}

#[tokio::test]
async fn a_webhook_is_signed_and_keeps_its_id() {
    let receiver = Receiver::start(Some(NO_CONTENT.to_owned())).await;
    let (app, message, now) = (app(&receiver.address()), fired("renew"), clock::now());
    deliver(&app, &message, now).await.expect("taken");
    deliver(&app, &message, now + Duration::from_secs(5)).await.expect("taken again");
    deliver(&app, &fired("another"), now).await.expect("taken");
    let requests = receiver.requests();
    let [first, again, other] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(first.line, "POST /hook/hunter2?token=hunter2 HTTP/1.1");
    assert_eq!(first.header("host"), format!("127.0.0.1:{}", receiver.port));
    assert_eq!(first.header("content-type"), "application/json");
    assert!(first.header("user-agent").starts_with("Fanfold/"), "{first:?}");
    assert_eq!(first.body, message.encode().expect("JSON"));
    assert_eq!(first.header("webhook-timestamp"), (now.ms() / 1_000).to_string());
    // repetitions have the same id and body, and the time of their try
    assert_eq!(first.header("webhook-id"), message.id);
    assert_eq!((again.header("webhook-id"), &again.body), (message.id.as_str(), &first.body));
    assert_eq!(again.header("webhook-timestamp"), (now.ms() / 1_000 + 5).to_string());
    assert_ne!(other.header("webhook-id"), message.id);
    let verifier = standardwebhooks::Webhook::new(SECRET).expect("a verifier");
    for request in &requests {
        verifier.verify(request.body.as_bytes(), &request.headers).expect("a signature");
    }
    // the signature covers the body, the id and the time
    let changed = first.body.replace("renew", "later");
    assert!(verifier.verify(changed.as_bytes(), &first.headers).is_err());
    for (name, of) in [("webhook-id", other), ("webhook-timestamp", again)] {
        let mut headers = first.headers.clone();
        headers.insert(name, of.headers.get(name).expect(name).clone());
        assert!(verifier.verify(first.body.as_bytes(), &headers).is_err(), "{name}");
    }
}

/// From the timer to the receiver, through both functions.
#[tokio::test]
async fn a_timer_that_fires_is_posted() {
    let receiver = Receiver::start(Some(NO_CONTENT.to_owned())).await;
    let node = Node::start(&[]);
    let settings = [
        ("REDIS_URL", &*node.url()),
        ("WEBHOOKS_ON", "1"),
        ("WEBHOOK_URL", &receiver.address()),
        ("WEBHOOK_SECRET", SECRET),
    ];
    let world = World::with(&settings).await;
    world.people(&["ash"]).await;
    let new = NewTimer { due_at: Time::EPOCH, every: None, payload: json!({"renew": 7}) };
    let (ash, name, now) = (world.identity("ash"), "renew".parse().expect("a name"), world.now());
    timers::put(&world.app, &ash, &name, new, now).await.expect("put");
    let webhook = Webhook::new(&world.sdk, &world.config).expect("the function");
    let mut posted = 0;
    for message in world.take().await {
        world.handle(&message).await.expect("handled");
        for message in world.take().await {
            let Message::Fired(fired) = message else { continue };
            deliver(&webhook, &fired, now).await.expect("taken");
            posted += 1;
        }
    }
    let (requests, fired) = (receiver.requests(), world.timer_events().await);
    let ([request], [fired]) = (&requests[..], &fired[..]) else {
        panic!("{requests:?} {fired:?}")
    };
    assert_eq!((posted, request.header("webhook-id")), (1, &*fired.id));
    assert_eq!(request.body, fired.encode().expect("JSON"));
    assert_eq!(fired.payload, json!({"renew": 7}));
}

#[tokio::test]
async fn only_2xx_and_410_are_done() {
    for status in ["200 OK", "201 Created", "202 Accepted", "204 No Content", "299 Odd", "410 Gone"]
    {
        // only the head of the answer is read
        let endless = match status {
            "200 OK" => "Content-Length: 1000000000000\r\n",
            "204 No Content" => "",
            _ => "Content-Length: 0\r\n",
        };
        let answer = format!("HTTP/1.1 {status}\r\n{endless}\r\n");
        let receiver = Receiver::start(Some(answer)).await;
        let done = deliver(&app(&receiver.address()), &fired("renew"), clock::now()).await;
        assert!(done.is_ok(), "{status}: {done:?}");
        assert_eq!(receiver.requests().len(), 1, "{status}");
    }
    for status in [304, 400, 401, 403, 404, 409, 418, 429, 500, 502, 503, 504, 599] {
        let answer = format!("HTTP/1.1 {status} hunter2\r\nContent-Length: 7\r\n\r\nhunter2");
        let receiver = Receiver::start(Some(answer)).await;
        let error = fails(&app(&receiver.address())).await;
        let expected = format!("posting a webhook: the receiver answered {status}");
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(receiver.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = Receiver::start(Some(NO_CONTENT.to_owned())).await;
    for status in [300, 301, 302, 303, 307, 308] {
        let location = format!("Location: {}\r\nContent-Length: 0\r\n", target.address());
        let answer = format!("HTTP/1.1 {status} Elsewhere\r\n{location}\r\n");
        let receiver = Receiver::start(Some(answer)).await;
        let error = fails(&app(&receiver.address())).await;
        assert!(error.contains(&format!("answered {status}")), "{error}");
    }
    assert_eq!(target.requests().len(), 0);
}

#[tokio::test]
async fn a_receiver_that_cannot_be_reached_or_does_not_answer_fails() {
    // nothing listens
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let error = fails(&app(&format!("http://127.0.0.1:{port}/hook/hunter2"))).await;
    assert!(error.contains("refused"), "{error}");
    // no answer
    let silent = Receiver::start(None).await;
    let mut app_of_silent = app(&silent.address());
    assert_eq!(app_of_silent.answer_within, Duration::from_secs(15));
    app_of_silent.answer_within = Duration::from_secs(2);
    let error = fails(&app_of_silent).await;
    assert_eq!(error, "posting a webhook: no answer within 2s");
    assert_eq!(silent.requests().len(), 1);
    // no HTTP, a closed connection, and a head without an end
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "hunter2".repeat(100_000));
    for answer in ["hunter2\r\n\r\n".to_owned(), String::new(), long] {
        let receiver = Receiver::start(Some(answer)).await;
        fails(&app(&receiver.address())).await;
    }
}

#[tokio::test]
async fn a_receiver_with_an_unknown_certificate_gets_nothing() {
    let authority = Authority::new();
    let server = Receiver::start(Some(NO_CONTENT.to_owned())).await;
    let front = Front::start(&authority, "localhost", server.port, |_| false);
    let error = fails(&app(&format!("https://localhost:{}/hook/hunter2", front.port))).await;
    assert!(error.contains("certificate"), "{error}");
    assert_eq!((front.connections(), server.requests().len()), (0, 0));
}

/// A message that was received this often, and failed for the first time this long ago.
fn event(body: &str, receives: u32, failing_for: Option<Duration>) -> SqsEvent {
    let mut record = SqsMessage::default();
    record.message_id = Some("the message".to_owned());
    record.body = Some(body.to_owned());
    record.attributes.insert("ApproximateReceiveCount".to_owned(), receives.to_string());
    if let Some(failing_for) = failing_for {
        let mut since = SqsMessageAttribute::default();
        since.string_value = Some((clock::now() - failing_for).to_string());
        record.message_attributes.insert("since".to_owned(), since);
    }
    let mut event = SqsEvent::default();
    event.records = vec![record];
    event
}

/// The number of messages on a queue, delayed ones included.
async fn length(world: &World, queue: &'static str) -> u64 {
    let all = json!({"QueueUrl": world.config.text(queue).unwrap(), "AttributeNames": ["All"]});
    let all = aws("AmazonSQS.GetQueueAttributes", "1.0", &all).await;
    let count = |name: &str| all["Attributes"][name].as_str()?.parse::<u64>().ok();
    ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"]
        .into_iter()
        .filter_map(count)
        .sum()
}

#[tokio::test]
async fn a_webhook_is_tried_for_a_day_and_then_becomes_a_dead_letter() {
    let world = World::new().await;
    let (queue, dead) = (WEBHOOKS.url, WEBHOOKS.dead_url);
    let answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_owned();
    let receiver = Receiver::start(Some(answer)).await;
    let app = app(&receiver.address());
    let retries = Retries::new(&world.sdk, &world.config, &[WEBHOOKS]).unwrap();
    let body = fired("renew").encode().expect("JSON");
    // the number of records that were returned to the queue, and the lengths of both queues
    let run = async |receives, failing_for| {
        let one = async |message: TimerFired| deliver(&app, &message, clock::now()).await;
        let event = event(&body, receives, failing_for);
        let run = batch::run(event, &retries, async |all| batch::each(all, &one).await);
        let returned = run.await.batch_item_failures.len();
        (returned, length(&world, queue).await, length(&world, dead).await)
    };
    let nearly = WEBHOOK_TRIED_FOR - Duration::from_secs(60);
    assert_eq!(run(1, None).await, (1, 0, 0), "the first failure");
    let soon = Some(WEBHOOK_IN_FLIGHT_MAX * 4);
    assert_eq!(run(5, soon).await, (1, 0, 0), "SQS delivers it again");
    assert_eq!(run(6, soon).await, (0, 1, 0), "it is requeued after half of its tries");
    // its wait is longer than a minute, so it must not be in flight meanwhile
    assert_eq!(run(1, Some(nearly)).await, (0, 2, 0), "it is requeued at once");
    // with the first failure after a day, whatever the number of its tries
    assert_eq!(run(1, Some(WEBHOOK_TRIED_FOR)).await, (0, 2, 1), "a dead letter");
    assert_eq!(receiver.requests().len(), 5, "each run is one try");
    let url = world.config.text(dead).unwrap();
    let all = json!({"QueueUrl": url, "MessageAttributeNames": ["All"]});
    let letter = aws("AmazonSQS.ReceiveMessage", "1.0", &all).await["Messages"][0].clone();
    assert_eq!(letter["Body"], body);
    let reason = "posting a webhook: the receiver answered 503 Service Unavailable";
    assert_eq!(letter["MessageAttributes"]["reason"]["StringValue"], reason, "{letter}");
    // a dead letter that an operator returns to the queue is tried for another day
    assert_eq!(letter["MessageAttributes"]["since"], Value::Null, "{letter}");
}
