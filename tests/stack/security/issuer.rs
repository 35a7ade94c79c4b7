//! Forged tokens: signed with a key that no API trusts, or by an issuer of the tests. An API of the tests trusts
//! that issuer, so it can receive tokens that no user pool would sign.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use fanfold_runtime::clock;
use rcgen::{KeyPair, PKCS_RSA_SHA256, PublicKeyData as _, SigningKey as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{output, setting};

pub struct Key(KeyPair);

impl Key {
    pub fn generate() -> Self {
        Self(KeyPair::generate_for(&PKCS_RSA_SHA256).expect("a key"))
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = unsigned(header, claims);
        let signature = self.0.sign(signed.as_bytes()).expect("signed");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// The public key in the form of a JSON Web Key.
    pub fn public(&self, kid: &str) -> Value {
        // 2,048 bits and the usual exponent: a list, a number with a zero in front, a number
        let der = self.0.der_bytes();
        let (n, e) = (&der[9..9 + 256], &der[der.len() - 3..]);
        assert_eq!((der.len(), e), (270, &[1, 0, 1][..]), "a key of another form");
        let (n, e) = (URL_SAFE_NO_PAD.encode(n), URL_SAFE_NO_PAD.encode(e));
        json!({"kty": "RSA", "alg": "RS256", "use": "sig", "kid": kid, "n": n, "e": e})
    }
}

/// The part of a token that is signed: header and claims.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", encode(header), encode(claims))
}

/// The header and claims of a token. The signature is not checked.
pub fn parts(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).expect("base64");
        serde_json::from_slice(&bytes).unwrap_or_default()
    });
    (parts.next().expect("a header"), parts.next().expect("claims"))
}

/// The keys that the stack's user pool signs with.
pub async fn pool_keys() -> Vec<Value> {
    let url = format!("{}/{}", setting("AWS_ENDPOINT_URL"), output("UserPoolId"));
    let keys = reqwest::get(format!("{url}/.well-known/jwks.json")).await.expect("keys");
    let keys: Value = keys.json().await.expect("JSON");
    keys["keys"].as_array().expect("a list").clone()
}

/// The public key in every form that a wrong verifier could use as a shared secret.
pub fn as_secrets(key: &Value) -> Vec<Vec<u8>> {
    let number =
        |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().expect("a text")).expect("base64");
    let numbers = [der(2, &[&[0], &number("n")[..]].concat()), der(2, &number("e"))].concat();
    let algorithm = [0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0];
    let bits = der(3, &[&[0], &der(0x30, &numbers)[..]].concat());
    let public = der(0x30, &[&algorithm[..], &bits].concat());
    let lines: Vec<String> = STANDARD
        .encode(&public)
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", lines.join("\n"));
    let text = |name: &str| key[name].as_str().expect("a text").as_bytes().to_vec();
    let mut secrets = vec![format!("{pem}\n").into_bytes(), pem.into_bytes()];
    secrets.extend([public, number("n"), text("n"), text("kid"), Vec::new()]);
    secrets.push(key.to_string().into_bytes());
    secrets
}

/// An item in DER.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..128 => vec![tag, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [head, content.to_vec()].concat()
}

/// The HMAC-SHA256 of a token with a shared secret.
pub fn hs256(secret: &[u8], signed: &str) -> String {
    let secret = if secret.len() > 64 { Sha256::digest(secret).to_vec() } else { secret.to_vec() };
    let pad = |with: u8| -> Vec<u8> {
        (0..64).map(|at| secret.get(at).copied().unwrap_or(0) ^ with).collect()
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(signed).finalize();
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
    URL_SAFE_NO_PAD.encode(outer)
}

/// An issuer, and an API in front of the deployed functions with an authorizer that trusts it.
pub struct Issuer {
    pub key: Key,
    pub name: String,
    /// The address of the API.
    pub url: String,
}

pub const KID: &str = "test";
pub const AUDIENCE: &str = "fanfold-tests";

impl Issuer {
    pub async fn new() -> Self {
        let key = Key::generate();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let name = format!("http://{}", listener.local_addr().expect("an address"));
        let keys = json!({"keys": [key.public(KID)]}).to_string();
        let about = json!({"issuer": name, "jwks_uri": format!("{name}/keys")}).to_string();
        std::thread::spawn(move || serve(&listener, &about, &keys));
        let url = make_api(&name).await;
        Self { key, name, url }
    }

    pub fn header(&self) -> Value {
        json!({"alg": "RS256", "typ": "JWT", "kid": KID})
    }

    /// Claims that are valid for an hour.
    pub fn claims(&self, subject: &str) -> Value {
        let now = clock::now().ms() / 1000;
        json!({
            "iss": self.name, "aud": AUDIENCE, "sub": subject,
            "iat": now - 60, "nbf": now - 60, "exp": now + 3600,
        })
    }

    /// The answer to a request for the home feed.
    pub async fn home(&self, token: &str) -> (u16, Value) {
        let call = reqwest::Client::new().get(format!("{}/v1/timeline", self.url));
        let answer = call.bearer_auth(token).send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.expect("JSON"))
    }
}

fn serve(listener: &TcpListener, about: &str, keys: &str) {
    for mut stream in listener.incoming().flatten() {
        let mut request = [0; 2048];
        let read = stream.read(&mut request).unwrap_or(0);
        let request = String::from_utf8_lossy(&request[..read]).into_owned();
        let body = if request.starts_with("GET /keys") { keys } else { about };
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
        let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        let _unread = stream.write_all(answer.as_bytes());
    }
}

async fn make_api(issuer: &str) -> String {
    let made = gateway("", &json!({"name": "forgeries", "protocolType": "HTTP"})).await;
    let api = made["apiId"].as_str().expect("an id").to_owned();
    let make = async |what: &str, body: Value| gateway(&format!("/{api}/{what}"), &body).await;
    let authorizer = json!({
        "authorizerType": "JWT", "name": "Jwt", "identitySource": ["$request.header.Authorization"],
        "jwtConfiguration": {"issuer": issuer, "audience": [AUDIENCE]},
    });
    let authorizer = make("authorizers", authorizer).await["authorizerId"].clone();
    let integration = json!({
        "integrationType": "AWS_PROXY", "payloadFormatVersion": "2.0",
        "integrationUri": timeline_uri().await,
    });
    let integration = make("integrations", integration).await["integrationId"].clone();
    let target = format!("integrations/{}", integration.as_str().expect("an id"));
    let route = json!({
        "routeKey": "GET /v1/timeline", "target": target,
        "authorizationType": "JWT", "authorizerId": authorizer,
    });
    make("routes", route).await;
    make("stages", json!({"stageName": "$default", "autoDeploy": true})).await;
    format!("{}/_aws/execute-api/{api}/$default", setting("AWS_ENDPOINT_URL"))
}

/// The integration URI of the function `timeline` in the deployed API.
async fn timeline_uri() -> Value {
    let deployed = format!("{}/v2/apis/{}", setting("AWS_ENDPOINT_URL"), output("ApiId"));
    let integrations = reqwest::get(format!("{deployed}/integrations")).await.expect("asked");
    let integrations: Value = integrations.json().await.expect("JSON");
    let uris = integrations["items"].as_array().expect("a list").iter();
    let mut uris = uris.map(|integration| integration["integrationUri"].clone());
    let function = output("TimelineFunction");
    uris.find(|uri| uri.as_str().is_some_and(|uri| uri.contains(&function))).expect("a function")
}

async fn gateway(path: &str, body: &Value) -> Value {
    let url = format!("{}/v2/apis{path}", setting("AWS_ENDPOINT_URL"));
    let call = reqwest::Client::new().post(url).json(body).send().await.expect("an answer");
    assert!(call.status().is_success(), "{path}: {call:?}");
    call.json().await.expect("JSON")
}
