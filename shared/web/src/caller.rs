//! The caller and the viewer of a request: the issuer and the subject of the token that API Gateway has checked.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::UserId;
use fanfold_core::id::Identity;
use fanfold_kinds::present::Viewer;
use lambda_http::request::RequestContext;

use crate::{Problem, ProblemKind};

/// The caller of a request. As an axum extractor it answers 401 if the request has no caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub identity: Identity,
}

/// The caller of a request without a token. Only [`crate::dev_caller`] makes one.
#[derive(Clone, Copy)]
pub(crate) struct DevIdentity(pub Identity);

impl Caller {
    /// The user id of the caller.
    pub fn user(&self) -> UserId {
        self.identity.user()
    }

    /// The caller that the token or, in development, a header names.
    pub(crate) fn of(parts: &Parts) -> Option<Self> {
        let development = || parts.extensions.get::<DevIdentity>().map(|dev| dev.0);
        token_claims(parts).or_else(development).map(|identity| Self { identity })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::of(parts).ok_or_else(|| {
            Problem::new(
                ProblemKind::Unauthenticated,
                "send a token in the header `Authorization: Bearer …`",
            )
        })
    }
}

/// The viewer of a request that shows something: its caller, with what is hidden from the caller. Every handler that
/// shows something takes this extractor, so what is hidden is read here and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewing(pub Viewer);

impl<S: Send + Sync> FromRequestParts<S> for Viewing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, state).await?;
        Ok(Self(Viewer::of(caller.user())))
    }
}

/// Issuer and subject from the claims that the gateway passes on. Both must be present and not empty.
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

    /// The caller of an event with this `authorizer`. Only the gateway writes that part of an event.
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
        // subjects are compared exactly: another spelling is another user
        for other in [" ash", "ash ", "Ash", "ash\0", "а\u{455}h"] {
            let other = claims(json!({"iss": "https://issuer.example", "sub": other}));
            assert!(other.is_some() && other != Some(ash));
        }
        let huge = "a".repeat(1_000_000);
        let found = claims(json!({"iss": "https://issuer.example", "sub": huge}));
        assert_eq!(found, Some(Identity::of("https://issuer.example", &huge)));
    }

    #[test]
    fn a_request_without_issuer_or_subject_has_no_caller() {
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
