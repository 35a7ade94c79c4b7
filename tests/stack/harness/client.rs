//! A client of the deployed API that compares every answer with the API description.

use std::sync::LazyLock;

use fanfold_web::OPENAPI_JSON;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::{aws, dice, output, setting};

static SPECIFICATION: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&OPENAPI_JSON).expect("the API description is JSON"));

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    pub fn problem(&self) -> (u16, &str) {
        (self.status, self.body["type"].as_str().unwrap_or("no problem"))
    }

    pub fn text(&self, pointer: &str) -> String {
        let text = self.body.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("no text at {pointer} of {}", self.body)).to_owned()
    }

    /// The ids of the items of a list.
    pub fn ids(&self) -> Vec<String> {
        let items = self.body["items"].as_array().unwrap_or_else(|| panic!("{self:?}"));
        items.iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
    }
}

/// A user of the deployed stack with a token.
pub struct Client {
    http: reqwest::Client,
    pub token: Option<String>,
    pub handle: String,
    pub id: String,
}

impl Client {
    /// A client without a token.
    pub fn anonymous() -> Self {
        let (token, handle, id) = (None, String::new(), String::new());
        Self { http: reqwest::Client::new(), token, handle, id }
    }

    /// A new user without a profile.
    pub async fn signed_in() -> Self {
        let mut client = Self::anonymous();
        client.handle = format!("u{:x}", dice::fresh());
        client.token = Some(client.sign_in().await);
        client
    }

    /// A new user with a profile.
    pub async fn new() -> Self {
        let mut client = Self::signed_in().await;
        let profile = json!({"handle": client.handle, "name": "Somebody"});
        let made = client.send(Method::PUT, "/v1/me", &[], Some(profile)).await;
        assert_eq!(made.status, 201, "{made:?}");
        client.id = made.text("/id");
        client
    }

    async fn sign_in(&self) -> String {
        let (client, password) = (output("UserPoolClientId"), "Fanfold-test-1");
        let email = format!("{}@example.com", self.handle);
        let user = json!({
            "ClientId": client, "Username": self.handle, "Password": password,
            "UserAttributes": [{"Name": "email", "Value": email}],
        });
        cognito("SignUp", user).await;
        let pool = output("UserPoolId");
        cognito("AdminConfirmSignUp", json!({"UserPoolId": pool, "Username": self.handle})).await;
        let signed_in = cognito(
            "InitiateAuth",
            json!({
                "AuthFlow": "USER_PASSWORD_AUTH",
                "ClientId": client,
                "AuthParameters": {"USERNAME": self.handle, "PASSWORD": password},
            }),
        );
        let token = signed_in.await["AuthenticationResult"]["AccessToken"].clone();
        token.as_str().expect("a token").to_owned()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None).await
    }

    pub async fn put(&self, path: &str) -> Answer {
        self.send(Method::PUT, path, &[], None).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], None).await
    }

    pub async fn post(&self, text: &str) -> Answer {
        self.send(Method::POST, "/v1/posts", &[], Some(json!({"text": text}))).await
    }

    /// Publishes a post and returns its id.
    pub async fn publish(&self, text: &str) -> String {
        let answer = self.post(text).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.text("/id")
    }

    /// The ids on all pages of a list, in order.
    pub async fn walk(&self, path: &str, limit: usize) -> Vec<String> {
        let (mut walked, mut cursor) = (Vec::new(), String::new());
        let mark = if path.contains('?') { '&' } else { '?' };
        for _ in 0..200 {
            let answer = self.get(&format!("{path}{mark}limit={limit}{cursor}")).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let ids = answer.ids();
            let next = answer.body["next_cursor"].as_str();
            assert!(ids.len() == limit || next.is_none(), "the page is neither full nor the last");
            walked.extend(ids);
            match next {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return walked,
            }
        }
        panic!("the list has more than 200 pages");
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answer {
        let body = body.map(|body| body.to_string().into_bytes());
        let json = [("Content-Type", "application/json")];
        let headers = [if body.is_some() { &json[..] } else { &[] }, headers].concat();
        self.raw(method, path, &headers, body).await
    }

    /// Sends the request without further headers, and compares the answer with the API description.
    pub async fn raw(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Answer {
        let answer = self.call(method.clone(), path, headers, body).await;
        let answer = answer.expect("the API answers");
        check_against_specification(&method, path, &answer);
        answer
    }

    /// Reads while parts of the stack are disturbed. `None` if there is no answer.
    pub async fn try_get(&self, path: &str) -> Option<Answer> {
        self.call(Method::GET, path, &[], None).await.ok()
    }

    /// Posts while parts of the stack are disturbed. `None` if there is no answer.
    pub async fn try_post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Option<Answer> {
        self.try_send(Method::POST, path, headers, Some(body)).await
    }

    /// Sends a request while parts of the stack are disturbed. `None` if there is no answer.
    pub async fn try_send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Option<Answer> {
        let headers = [&[("Content-Type", "application/json")], headers].concat();
        let body = body.map(|body| body.to_string().into_bytes());
        self.call(method, path, &headers, body).await.ok()
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> reqwest::Result<Answer> {
        let url = format!("{}{path}", setting("FANFOLD_URL"));
        let mut request = self.http.request(method, url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = request.send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let bytes = answer.bytes().await?;
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        assert_eq!(bytes.is_empty(), body.is_null(), "the body of {path} is not JSON");
        Ok(Answer { status, headers, body })
    }
}

/// Panics if the API description does not contain the answer.
fn check_against_specification(method: &Method, path: &str, answer: &Answer) {
    assert!(answer.status < 500, "{method} {path}: {answer:?}");
    // the gateway itself answers 401 for a token that it refuses
    let has_id = answer.headers.contains_key("x-request-id");
    assert!(has_id || answer.status == 401, "{method} {path}: no x-request-id: {answer:?}");
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').collect();
    let known = SPECIFICATION["paths"].as_object().expect("paths").iter().find(|(template, _)| {
        let template: Vec<&str> = template.split('/').collect();
        template.len() == segments.len()
            && template.iter().zip(&segments).all(|(t, s)| t.starts_with('{') || t == s)
    });
    let operation =
        known.and_then(|(_, methods)| methods.get(method.as_str().to_lowercase().as_str()));
    let Some(operation) = operation else {
        // 400: a part of the path is encoded, and another path matches the description
        let encoded = answer.problem() == (400, "/problems/invalid-id");
        assert!(
            encoded || [404, 405].contains(&answer.status),
            "{method} {path} is not in the description: {answer:?}"
        );
        return;
    };
    let response = &operation["responses"][answer.status.to_string()];
    assert!(
        response.is_object(),
        "the description of {method} {path} has no such status: {answer:?}"
    );
    let Some(contents) = response["content"].as_object() else {
        assert!(
            answer.body.is_null(),
            "{method} {path} has no body in the description: {answer:?}"
        );
        return;
    };
    let media_type = answer.headers["content-type"].to_str().expect("a text");
    let content = contents.get(media_type);
    let content = content
        .unwrap_or_else(|| panic!("{method} {path} is not described as {media_type}: {answer:?}"));
    let Some(schema) = content.get("schema") else { return };
    let mut schema = schema.clone();
    schema["components"] = SPECIFICATION["components"].clone();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(&answer.body).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{method} {path}: {errors:?} in {answer:?}");
}

async fn cognito(operation: &str, body: Value) -> Value {
    aws(&format!("AWSCognitoIdentityProviderService.{operation}"), "1.1", &body).await
}
