//! One invocation of a release binary. The test plays the parts of Lambda and AWS.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{bootstrap, queue_urls};

const TRACE: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

/// A request: the first line, the headers in lower case, and the body.
struct Sent {
    line: String,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Sent {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Reads a request. By hand rather than with a server such as axum, which would need a runtime and a route for each
/// service: one function answers all requests here, and can leave one without an answer.
fn request(from: &mut BufReader<TcpStream>) -> Option<Sent> {
    let (mut line, mut headers) = (String::new(), Vec::new());
    if from.read_line(&mut line).ok()? == 0 {
        return None;
    }
    loop {
        let mut header = String::new();
        from.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value);
    let mut body = Vec::new();
    if header("transfer-encoding").is_some() {
        loop {
            let mut size = String::new();
            from.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            from.read_exact(&mut chunk).ok()?;
            body.extend(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else {
        let length = header("content-length").and_then(|length| length.parse().ok());
        body.resize(length.unwrap_or(0), 0);
        from.read_exact(&mut body).ok()?;
    }
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Sent { line, headers, body })
}

/// Starts a server that sends every request to `record`. `answer` returns the headers and body of the answer, or
/// `None` to let the request hang.
fn serve(
    record: Sender<Sent>,
    answer: impl Fn(&Sent) -> Option<(String, String)> + Clone + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten().take(16) {
            let (record, answer) = (record.clone(), answer.clone());
            std::thread::spawn(move || {
                let mut to = stream.try_clone().expect("a stream");
                let mut from = BufReader::new(stream);
                while let Some(sent) = request(&mut from) {
                    let answer = answer(&sent);
                    // the receiver is dropped at the end of the test
                    let _late = record.send(sent);
                    let Some((headers, body)) = answer else {
                        return drop(from.read_to_end(&mut Vec::new()));
                    };
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
                    );
                    to.write_all(answer.as_bytes()).expect("answered");
                }
            });
        }
    });
    address
}

/// The result of an invocation.
struct Done {
    answer: Value,
    aws: Vec<Sent>,
    log: Vec<Value>,
}

/// Invokes a function with an event. AWS answers, or is unreachable.
fn invoke(function: &str, event: &Value, aws_answers: bool) -> Done {
    let (record_aws, aws) = channel();
    let endpoint = match aws_answers {
        true => serve(record_aws, |_| {
            let headers = "Content-Type: application/x-amz-json-1.0\r\n".to_owned();
            Some((headers, json!({"MessageId": "m", "MD5OfMessageBody": ""}).to_string()))
        }),
        false => "127.0.0.1:1".to_owned(),
    };
    let (record, requests) = channel();
    let given = Arc::new(AtomicBool::new(false));
    let event = event.to_string();
    let runtime = serve(record, move |sent| {
        if sent.line.starts_with("POST") {
            return Some((String::new(), String::new()));
        }
        if given.swap(true, Ordering::SeqCst) {
            return None;
        }
        let headers = format!(
            "Content-Type: application/json\r\nLambda-Runtime-Aws-Request-Id: invocation-1\r\n\
             Lambda-Runtime-Deadline-Ms: 9999999999999\r\nLambda-Runtime-Trace-Id: {TRACE}\r\n\
             Lambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:us-east-1:0:function:f\r\n"
        );
        Some((headers, event.clone()))
    });
    let mut child = Command::new(bootstrap())
        .env_clear()
        .envs([
            ("_HANDLER", function),
            ("AWS_LAMBDA_RUNTIME_API", runtime.as_str()),
            ("AWS_LAMBDA_FUNCTION_NAME", function),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_ENDPOINT_URL", &format!("http://{endpoint}")),
            ("REDIS_URL", "rediss://127.0.0.1:1"),
            ("USERS_TABLE", "users"),
            ("POSTS_TABLE", "posts"),
            ("GRAPH_TABLE", "graph"),
            ("DUE_TABLE", "due"),
            ("MARKS_TABLE", "marks"),
            ("BOARDS_TABLE", "boards"),
            ("DOCTOR_QUEUE_URL", "http://127.0.0.1:1/queue"),
        ])
        .envs(queue_urls(&format!("http://{endpoint}/0")))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let answer = loop {
        let sent = requests.recv_timeout(Duration::from_secs(30)).expect("the function answers");
        if sent.line.starts_with("POST") {
            assert!(sent.line.contains("/invocation-1/response"), "{}", sent.line);
            break sent.body;
        }
    };
    child.kill().expect("stopped");
    let output = child.wait_with_output().expect("ended");
    let log = String::from_utf8(output.stdout).expect("text");
    let log = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    Done { answer, aws: aws.try_iter().collect(), log }
}

fn entry<'a>(log: &'a [Value], message: &str) -> &'a Value {
    let found = log.iter().find(|line| line["message"] == message);
    found.unwrap_or_else(|| panic!("no entry {message:?} in the log: {log:#?}"))
}

/// The simplest way to make a function send a message is poison that arrived too often.
#[test]
fn a_sent_message_carries_trace_and_request() {
    let event = json!({"Records": [{
        "messageId": "m-1",
        "body": "poison\n\u{1b}[31m",
        "attributes": {"ApproximateReceiveCount": "6"},
        "messageAttributes": {"request": {
            "stringValue": "request-1=", "dataType": "String",
            "stringListValues": [], "binaryListValues": [],
        }},
        "eventSourceARN": "arn:aws:sqs:us-east-1:0:BULK_EVENTS_QUEUE_URL",
    }]});
    let done = invoke("dispatch", &event, true);
    assert_eq!(done.answer, json!({"batchItemFailures": []}), "{:#?}", done.log);
    let [sent] = done.aws.as_slice() else { panic!("{} calls", done.aws.len()) };
    assert_eq!(sent.header("x-amz-target"), Some("AmazonSQS.SendMessage"));
    assert_eq!(sent.header("x-amzn-trace-id"), Some(TRACE));
    assert!(sent.body["QueueUrl"].as_str().is_some_and(|u| u.ends_with("BULK_EVENTS_DEAD_URL")));
    assert_eq!(sent.body["MessageAttributes"]["request"]["StringValue"], "request-1=");
    assert_eq!(sent.body["MessageBody"], "poison\n\u{1b}[31m");
    for message in ["poison: the body cannot be read", "became a dead letter"] {
        let line = entry(&done.log, message);
        for (name, expected) in [
            ("request_id", "request-1="),
            ("invocation", "invocation-1"),
            ("trace", "1-5759e988-bd862e3fe1be46a994272793"),
            ("message_id", "m-1"),
        ] {
            assert_eq!(line[name], expected, "{line}");
        }
    }
    let measured = done.log.iter().find(|line| line["_aws"].is_object()).expect("metrics");
    assert_eq!((&measured["MessagesDead"], &measured["MessagesRequeued"]), (&json!(1), &json!(0)));
}

/// A request id that would damage the log is dropped.
#[test]
fn an_invalid_request_id_is_dropped() {
    let event = json!({"Records": [{
        "messageId": "m-1", "body": "poison", "attributes": {"ApproximateReceiveCount": "6"},
        "messageAttributes": {"request": {
            "stringValue": "x\",\"level\":\"\n", "dataType": "String",
            "stringListValues": [], "binaryListValues": [],
        }},
        "eventSourceARN": "arn:aws:sqs:us-east-1:0:POST_EVENTS_QUEUE_URL",
    }]});
    let done = invoke("dispatch", &event, true);
    assert_eq!(done.aws[0].body["MessageAttributes"]["request"], Value::Null);
    assert_eq!(entry(&done.log, "became a dead letter")["request_id"], Value::Null);
}

#[test]
fn an_unavailable_store_is_answered_with_503_logged_and_counted() {
    let mut event: Value =
        serde_json::from_str(include_str!("../../events/users.json")).expect("an event");
    let http = &mut event["requestContext"]["http"];
    (http["method"], http["path"]) = (json!("GET"), json!("/v1/users/@ash"));
    event["rawPath"] = json!("/v1/users/@ash");
    let route = json!("GET /v1/users/{user}");
    (event["requestContext"]["routeKey"], event["routeKey"]) = (route.clone(), route);
    event["headers"]["authorization"] = json!("Bearer a-token-that-nobody-logs");
    event["body"] = Value::Null;
    let done = invoke("users", &event, false);
    assert_eq!(done.answer["statusCode"], 503, "{}", done.answer);
    assert_eq!(done.answer["headers"]["x-request-id"], "request-1", "{}", done.answer);
    let served = entry(&done.log, "served");
    assert_eq!((&served["status"], &served["request_id"]), (&json!(503), &json!("request-1")));
    assert_eq!((&served["route"], &served["method"]), (&json!("/v1/users/{user}"), &json!("GET")));
    assert!(served["user"].is_string(), "{served}");
    assert_eq!(entry(&done.log, "a store did not answer")["request_id"], "request-1");
    let measured = done.log.iter().find(|line| line["_aws"].is_object()).expect("metrics");
    assert_eq!((&measured["Requests"], &measured["Unavailable"]), (&json!(1), &json!(1)));
    let log = format!("{:?}", done.log);
    assert!(!log.contains("a-token-that-nobody-logs") && !log.contains("@ash"), "{log}");
}
