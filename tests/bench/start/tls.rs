//! A DynamoDB over HTTPS that answers every request at once, as a BatchGetItem that finds one profile, whose user says nothing.

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use fanfold_core::UserId;
use fanfold_core::id::Identity;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::http::{request, respond};
use crate::people;

/// The certificate authorities that Linux systems trust: a function loads as many.
const SYSTEM_TRUST: &str = "/etc/ssl/certs/ca-certificates.crt";

pub struct TlsServer {
    pub url: String,
    /// A file with the certificates of the system and of the server.
    pub trust: PathBuf,
}

impl TlsServer {
    pub fn start() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let trust = std::env::temp_dir().join(format!("fanfold-bench-{}.pem", address.port()));
        let system = std::fs::read_to_string(SYSTEM_TRUST).unwrap_or_default();
        std::fs::write(&trust, format!("{system}\n{}", cert.pem()))
            .expect("a file of certificates");
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("a server's settings");
        let config = Arc::new(config);
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let config = config.clone();
                std::thread::spawn(move || serve(stream, config));
            }
        });
        Self { url: format!("https://{address}"), trust }
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>) {
    stream.set_nodelay(true).expect("a stream");
    let connection = ServerConnection::new(config).expect("a connection");
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    while let Some(request) = request(&mut stream) {
        let is_about = request.body.contains("about#");
        let found = if is_about { vec![] } else { vec![people::profile_item(caller(), 0, 1)] };
        let body = json!({"Responses": {"users": found}}).to_string();
        let kind = [("Content-Type", "application/x-amz-json-1.0")];
        respond(stream.get_mut(), 200, &kind, body.as_bytes()).expect("an answer");
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        let _removed = std::fs::remove_file(&self.trust);
    }
}

/// The user who calls. Their own profile needs two calls to DynamoDB, at the same time: there is no relation to oneself.
pub fn caller() -> UserId {
    Identity::of("https://issuer.example", "ash").user()
}

/// The event of `GET /v1/users/{user}` for the caller's own profile, in the form in which API Gateway passes it.
pub fn event() -> String {
    let mut event: Value =
        serde_json::from_str(include_str!("../../events/users.json")).expect("an event");
    let path = format!("/v1/users/{}", caller());
    let http = &mut event["requestContext"]["http"];
    (http["method"], http["path"]) = (json!("GET"), json!(path));
    event["rawPath"] = json!(path);
    event["routeKey"] = json!("GET /v1/users/{user}");
    event["requestContext"]["routeKey"] = json!("GET /v1/users/{user}");
    event["body"] = Value::Null;
    event.to_string()
}
