//! Who calls: issuer and subject of the token that API Gateway has checked.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::UserId;
use fanfold_core::id::Identity;
use lambda_http::request::RequestContext;

use super::{Kind, Problem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub identity: Identity,
}

impl Caller {
    pub fn user(&self) -> UserId {
        self.identity.user()
    }

    pub(super) fn named(parts: &Parts) -> Option<Self> {
        let named = token_claims(parts);
        // compiled into debug builds alone: `cargo lambda watch` has no authorizer
        #[cfg(debug_assertions)]
        let named = named.or_else(|| super::dev_caller::named(parts));
        named.map(|identity| Self { identity })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::named(parts).ok_or_else(|| {
            Problem::new(Kind::Unauthenticated, "send a token: Authorization: Bearer …")
        })
    }
}

fn token_claims(parts: &Parts) -> Option<Identity> {
    let RequestContext::ApiGatewayV2(context) = parts.extensions.get::<RequestContext>()? else {
        return None;
    };
    let claims = &context.authorizer.as_ref()?.jwt.as_ref()?.claims;
    let (issuer, subject) = (claims.get("iss")?, claims.get("sub")?);
    (!issuer.is_empty() && !subject.is_empty()).then(|| Identity::of(issuer, subject))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use serde_json::{Value, json};

    use super::*;

    /// Who calls, by what the gateway says of the token. The event is the gateway's; what a client
    /// sends is in other places of it.
    fn caller(authorizer: Value) -> Option<Identity> {
        let context = json!({
            "authorizer": authorizer, "accountId": "1", "apiId": "a", "stage": "$default",
            "requestId": "r", "timeEpoch": 1, "routeKey": "GET /v1/timeline",
            "http": {"method": "GET", "path": "/", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
        });
        let context = RequestContext::ApiGatewayV2(serde_json::from_value(context).unwrap());
        token_claims(&Request::builder().extension(context).body(()).unwrap().into_parts().0)
    }

    fn claims(claims: Value) -> Option<Identity> {
        caller(json!({"jwt": {"claims": claims, "scopes": []}}))
    }

    #[test]
    fn issuer_and_subject_name_the_caller_and_nothing_else_does() {
        let ash = Identity::of("https://issuer.example", "ash");
        assert_eq!(claims(json!({"iss": "https://issuer.example", "sub": "ash"})), Some(ash));
        let more = json!({
            "iss": "https://issuer.example", "sub": "ash", "username": "birch", "client_id": "birch",
            "cognito:username": "birch", "user": "birch", "aud": "birch",
        });
        assert_eq!(claims(more), Some(ash));
        // not trimmed, folded or cut: another subject is another user
        for other in [" ash", "ash ", "Ash", "ash\0", "а\u{455}h"] {
            let other = claims(json!({"iss": "https://issuer.example", "sub": other}));
            assert!(other.is_some() && other != Some(ash));
        }
        let huge = "a".repeat(1_000_000);
        let found = claims(json!({"iss": "https://issuer.example", "sub": huge}));
        assert_eq!(found, Some(Identity::of("https://issuer.example", &huge)));
    }

    #[test]
    fn without_issuer_and_subject_nobody_calls() {
        for odd in [
            json!({}),
            json!({"iss": "https://issuer.example"}),
            json!({"sub": "ash"}),
            json!({"iss": "", "sub": "ash"}),
            json!({"iss": "https://issuer.example", "sub": ""}),
            json!({"ISS": "https://issuer.example", "SUB": "ash"}),
        ] {
            assert_eq!(claims(odd.clone()), None, "{odd}");
        }
        let lambda = json!({"iss": "https://issuer.example", "sub": "ash"});
        for authorizer in [json!(null), json!({}), json!({"lambda": lambda}), json!({"iam": {}})] {
            assert_eq!(caller(authorizer.clone()), None, "{authorizer}");
        }
        let headers = Request::builder()
            .header("x-amzn-request-context", r#"{"authorizer":{"jwt":{"claims":{"sub":"ash"}}}}"#)
            .header("x-amzn-oidc-identity", "ash");
        assert_eq!(token_claims(&headers.body(()).unwrap().into_parts().0), None);
    }
}
