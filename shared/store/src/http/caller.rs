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
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        if let Some(identity) = token_claims(parts) {
            return Ok(Self { identity });
        }
        // compiled into debug builds alone: `cargo lambda watch` has no authorizer
        #[cfg(debug_assertions)]
        if let Some(identity) = super::dev_caller::named(parts) {
            return Ok(Self { identity });
        }
        Err(Problem::new(Kind::Unauthenticated, "send a token: Authorization: Bearer …"))
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
