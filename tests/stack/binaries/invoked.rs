//! One invocation of a release binary: Lambda's side is played here, and so is AWS.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{QUEUES, bootstrap};

const TRACE: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

/// What was sent: the first line, the headers in lower case, and the body.
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

/// A server that tells what it is sent; `answer` gives headers and body, or nothing: then it hangs.
fn serve(
    tell: Sender<Sent>,
    answer: impl Fn(&Sent) -> Option<(String, String)> + Clone + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten().take(16) {
            let (tell, answer) = (tell.clone(), answer.clone());
            std::thread::spawn(move || {
                let mut to = stream.try_clone().expect("a stream");
                let mut from = BufReader::new(stream);
                while let Some(sent) = request(&mut from) {
                    let answer = answer(&sent);
                    // nobody listens once the test is through
                    let _late = tell.send(sent);
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

/// What came of an invocation.
struct Done {
    answer: Value,
    aws: Vec<Sent>,
    log: Vec<Value>,
}

/// Gives a function one event, with or without somebody where AWS should be.
fn invoke(function: &str, event: &Value, aws_answers: bool) -> Done {
    let (tell_aws, aws) = channel();
    let endpoint = match aws_answers {
        true => serve(tell_aws, |_| {
            let headers = "Content-Type: application/x-amz-json-1.0\r\n".to_owned();
            Some((headers, json!({"MessageId": "m", "MD5OfMessageBody": ""}).to_string()))
        }),
        false => "127.0.0.1:1".to_owned(),
    };
    let (tell, told) = channel();
    let given = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let event = event.to_string();
    let runtime = serve(tell, move |sent| {
        if sent.line.starts_with("POST") {
            return Some((String::new(), String::new()));
        }
        if given.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return None;
        }
        let headers = format!(
            "Content-Type: application/json\r\nLambda-Runtime-Aws-Request-Id: invocation-1\r\n\
             Lambda-Runtime-Deadline-Ms: 9999999999999\r\nLambda-Runtime-Trace-Id: {TRACE}\r\n\
             Lambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:us-east-1:0:function:f\r\n"
        );
        Some((headers, event.clone()))
    });
    let mut child = Command::new(bootstrap(function))
        .env_clear()
        .envs([
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
            ("DOCTOR_QUEUE_URL", "http://127.0.0.1:1/queue"),
        ])
        .envs(QUEUES.iter().flat_map(|queue| {
            ["QUEUE_URL", "DEAD_QUEUE_URL"].map(|kind| {
                (format!("{queue}_{kind}"), format!("http://{endpoint}/0/{queue}_{kind}"))
            })
        }))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let answer = loop {
        let sent = told.recv_timeout(Duration::from_secs(30)).expect("the function answers");
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

fn said<'a>(log: &'a [Value], message: &str) -> &'a Value {
    let found = log.iter().find(|line| line["message"] == message);
    found.unwrap_or_else(|| panic!("nobody said {message:?}: {log:#?}"))
}

/// Poison that came too often is the shortest way to a message that a function sends.
#[test]
fn a_message_that_is_sent_carries_trace_and_request() {
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
    assert!(
        sent.body["QueueUrl"].as_str().is_some_and(|u| u.ends_with("BULK_EVENTS_DEAD_QUEUE_URL"))
    );
    assert_eq!(sent.body["MessageAttributes"]["request"]["StringValue"], "request-1=");
    assert_eq!(sent.body["MessageBody"], "poison\n\u{1b}[31m");
    for message in ["poison: the body cannot be read", "a dead letter"] {
        let line = said(&done.log, message);
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
    assert_eq!((&measured["MessagesDead"], &measured["MessagesAnew"]), (&json!(1), &json!(0)));
}

/// An id that would garble the log is not taken over.
#[test]
fn a_request_that_is_no_id_is_forgotten() {
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
    assert_eq!(said(&done.log, "a dead letter")["request_id"], Value::Null);
}

#[test]
fn a_store_that_is_away_is_answered_503_logged_and_counted() {
    let mut event: Value =
        serde_json::from_str(include_str!("../../events/users.json")).expect("an event");
    let http = &mut event["requestContext"]["http"];
    (http["method"], http["path"]) = (json!("GET"), json!("/v1/users/@ash"));
    event["rawPath"] = json!("/v1/users/@ash");
    event["headers"]["authorization"] = json!("Bearer a-token-that-nobody-logs");
    event["body"] = Value::Null;
    let done = invoke("users", &event, false);
    assert_eq!(done.answer["statusCode"], 503, "{}", done.answer);
    assert_eq!(done.answer["headers"]["x-request-id"], "request-1", "{}", done.answer);
    let served = said(&done.log, "served");
    assert_eq!((&served["status"], &served["request_id"]), (&json!(503), &json!("request-1")));
    assert_eq!((&served["route"], &served["method"]), (&json!("/v1/users/{user}"), &json!("GET")));
    assert!(served["user"].is_string(), "{served}");
    assert_eq!(said(&done.log, "a store did not answer")["request_id"], "request-1");
    let measured = done.log.iter().find(|line| line["_aws"].is_object()).expect("metrics");
    assert_eq!((&measured["Requests"], &measured["Unavailable"]), (&json!(1), &json!(1)));
    let log = format!("{:?}", done.log);
    assert!(!log.contains("a-token-that-nobody-logs") && !log.contains("@ash"), "{log}");
}
