//! Forged tokens. The gateway refuses them before it calls a function; the answer is the gateway's own message.
//!
//! There is no test of a signed token without `exp`: AWS refuses it, but the local cloud accepts it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanfold_runtime::clock;
use reqwest::Method;
use serde_json::{Value, json};

use super::issuer::{AUDIENCE, Issuer, KID, Key, as_secrets, hs256, parts, pool_keys, unsigned};
use crate::harness::client::{Answer, Client};
use crate::harness::{aws, dice, output};

fn refused_by_the_gateway(status: u16, body: &Value) -> bool {
    status == 401 && *body == json!({"message": "Unauthorized"})
}

async fn home(token: &str) -> Answer {
    let mut client = Client::anonymous();
    client.token = Some(token.to_owned());
    client.get("/v1/timeline").await
}

#[tokio::test]
async fn the_gateway_refuses_tokens_that_the_user_pool_did_not_sign() {
    let victim = Client::new().await;
    let token = victim.token.clone().expect("a token");
    let (header, claims) = parts(&token);
    let (keys, own) = (pool_keys().await, Key::generate());
    let mut forged = vec![String::new(), "x".to_owned(), "a.b.c".to_owned(), "..".to_owned()];
    for none in ["none", "None", "NONE", "nOnE", ""] {
        let unsigned = unsigned(&json!({"alg": none, "typ": "JWT", "kid": header["kid"]}), &claims);
        forged.extend([format!("{unsigned}."), format!("{unsigned}.AA"), unsigned]);
    }
    for key in &keys {
        // the right name of a key with another key
        let header = json!({"alg": "RS256", "kid": key["kid"]});
        forged.push(own.sign(&header, &claims));
        // a key in the token itself
        let brought = json!({"alg": "RS256", "kid": key["kid"], "jwk": own.public(KID)});
        forged.push(own.sign(&brought, &claims));
        forged.push(own.sign(&json!({"alg": "RS256", "jwk": own.public(KID)}), &claims));
        let away = json!({"alg": "RS256", "kid": key["kid"], "jku": "http://127.0.0.1:9/keys"});
        forged.push(own.sign(&away, &claims));
        // the public key as a shared secret
        for secret in as_secrets(key) {
            let signed = unsigned(&json!({"alg": "HS256", "kid": key["kid"]}), &claims);
            forged.push(format!("{signed}.{}", hs256(&secret, &signed)));
        }
    }
    for kid in ["../../etc/passwd", "' OR 1=1 --", "\u{0}", ""] {
        forged.push(own.sign(&json!({"alg": "RS256", "kid": kid}), &claims));
    }
    // the pool's signature with other claims, and other signatures with the pool's claims
    let pieces: Vec<&str> = token.split('.').collect();
    let (mut other, mut longer) = (claims.clone(), claims.clone());
    other["sub"] = json!(victim.id);
    longer["exp"] = json!(9_999_999_999_u64);
    for claims in [other, longer] {
        let claims = URL_SAFE_NO_PAD.encode(claims.to_string());
        forged.push(format!("{}.{claims}.{}", pieces[0], pieces[2]));
    }
    forged.push(format!("{}.{}.{}", pieces[0], pieces[1], URL_SAFE_NO_PAD.encode([0; 256])));
    forged.push(format!("{}.{}.", pieces[0], pieces[1]));
    forged.push(format!("{token}.{}", pieces[2]));
    assert_eq!(home(&token).await.status, 200, "the genuine token is refused");
    for token in &forged {
        let answer = home(token).await;
        assert!(refused_by_the_gateway(answer.status, &answer.body), "{token}: {answer:?}");
    }
}

#[tokio::test]
async fn a_token_of_another_client_or_pool_is_refused() {
    let (name, password) = (format!("u{:x}", dice::fresh()), "Fanfold-test-1");
    let cognito = async |operation: &str, body: Value| {
        aws(&format!("AWSCognitoIdentityProviderService.{operation}"), "1.1", &body).await
    };
    let own_pool = cognito("CreateUserPool", json!({"PoolName": name})).await;
    let own_pool = own_pool.pointer("/UserPool/Id").and_then(Value::as_str).expect("a pool");
    for pool in [output("UserPoolId"), own_pool.to_owned()] {
        let app = json!({
            "UserPoolId": pool, "ClientName": name,
            "ExplicitAuthFlows": ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
        });
        let app = cognito("CreateUserPoolClient", app).await;
        let app = app.pointer("/UserPoolClient/ClientId").and_then(Value::as_str).expect("an app");
        let email = json!([{"Name": "email", "Value": format!("{name}@example.com")}]);
        let user = json!({
            "ClientId": app, "Username": name, "Password": password, "UserAttributes": email,
        });
        cognito("SignUp", user).await;
        cognito("AdminConfirmSignUp", json!({"UserPoolId": pool, "Username": name})).await;
        let parameters = json!({"USERNAME": name, "PASSWORD": password});
        let signed_in = json!({
            "AuthFlow": "USER_PASSWORD_AUTH", "ClientId": app, "AuthParameters": parameters,
        });
        let tokens = cognito("InitiateAuth", signed_in).await["AuthenticationResult"].clone();
        for kind in ["AccessToken", "IdToken", "RefreshToken"] {
            let token = tokens[kind].as_str().expect("a token");
            let answer = home(token).await;
            assert!(refused_by_the_gateway(answer.status, &answer.body), "{kind}: {answer:?}");
        }
    }
}

/// The signature of each token is valid, but its claims are not.
#[tokio::test]
async fn a_signed_token_of_another_issuer_audience_or_time_is_refused() {
    let issuer = Issuer::new().await;
    let good = issuer.claims("ash");
    let (status, body) = issuer.home(&issuer.key.sign(&issuer.header(), &good)).await;
    assert_eq!(status, 200, "{body}");
    let now = clock::now().ms() / 1000;
    for (claim, value) in [
        ("iss", json!("https://issuer.example")),
        ("iss", json!(format!("{}/", issuer.name))),
        ("iss", json!(null)),
        ("iss", json!([issuer.name])),
        ("aud", json!("somebody else")),
        ("aud", json!([])),
        ("aud", json!([format!("{AUDIENCE} ")])),
        ("aud", json!("")),
        ("exp", json!(now - 1)),
        ("exp", json!(0)),
        ("nbf", json!(now + 600)),
        ("iat", json!(now + 600)),
    ] {
        let mut claims = good.clone();
        claims[claim] = value;
        let (status, body) = issuer.home(&issuer.key.sign(&issuer.header(), &claims)).await;
        assert!(refused_by_the_gateway(status, &body), "{claims}: {status} {body}");
    }
    for missing in ["iss", "aud"] {
        let mut claims = good.clone();
        claims.as_object_mut().expect("claims").remove(missing);
        let (status, body) = issuer.home(&issuer.key.sign(&issuer.header(), &claims)).await;
        assert!(refused_by_the_gateway(status, &body), "{claims}: {status} {body}");
    }
    let deployed = home(&issuer.key.sign(&issuer.header(), &good)).await;
    assert!(
        refused_by_the_gateway(deployed.status, &deployed.body),
        "the deployed API accepts the token of another issuer"
    );
}

/// An issuer may omit the subject, and the gateway accepts such a token. The function refuses it.
#[tokio::test]
async fn a_token_without_a_subject_is_refused() {
    let issuer = Issuer::new().await;
    let mut claims = issuer.claims("");
    claims["username"] = json!("ash");
    for _ in 0..2 {
        let (status, body) = issuer.home(&issuer.key.sign(&issuer.header(), &claims)).await;
        assert_eq!((status, &body["type"]), (401, &json!("/problems/unauthenticated")), "{body}");
        claims.as_object_mut().expect("claims").remove("sub");
    }
    // unusual subjects are separate users
    for odd in ["#", "{0}:*", "a\n\u{0}b", "..", &"a".repeat(4_000)] {
        let token = issuer.key.sign(&issuer.header(), &issuer.claims(odd));
        let (status, body) = issuer.home(&token).await;
        assert_eq!((status, &body["items"]), (200, &json!([])), "{odd:?}: {body}");
    }
}

#[tokio::test]
async fn a_token_is_read_from_its_header_only() {
    let user = Client::new().await;
    let token = user.token.clone().expect("a token");
    let nobody = Client::anonymous();
    let bearer = format!("Bearer {token}");
    let cookie = format!("Authorization={bearer}; access_token={token}");
    for headers in [
        [("X-Authorization", bearer.as_str())],
        [("Cookie", cookie.as_str())],
        [("Proxy-Authorization", bearer.as_str())],
        [("X-Amz-Security-Token", token.as_str())],
        [("Authorization", "Basic YXNoOmFzaA==")],
    ] {
        let answer = nobody.send(Method::GET, "/v1/timeline", &headers, None).await;
        assert!(refused_by_the_gateway(answer.status, &answer.body), "{headers:?}: {answer:?}");
    }
    for query in [format!("access_token={token}"), format!("Authorization={token}")] {
        let answer = nobody.get(&format!("/v1/timeline?{query}")).await;
        assert!(refused_by_the_gateway(answer.status, &answer.body), "{answer:?}");
    }
}
