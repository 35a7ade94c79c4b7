//! The public API, called by demo users. A token is renewed before it expires, and after it was refused.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::failure::{Done, failure};
use crate::base::http;
use crate::launch::system::System;
use crate::operate::{Token, UserPool};

/// How long a call may take.
pub const CALL_WITHIN: Duration = Duration::from_secs(10);
/// The rest of a token's life in which it is renewed.
const RENEWED_BEFORE_END: Duration = Duration::from_secs(300);

/// The addresses of the API and the user pool on this machine.
pub struct Api {
    url: String,
    endpoint: String,
    pool: String,
    client: String,
}

/// A demo user.
pub struct Person {
    /// Empty until the person has a profile.
    pub id: String,
    pub handle: String,
    pass: Mutex<Pass>,
}

/// A token, and the time until which it is used.
struct Pass {
    text: String,
    used_until: Instant,
}

impl Pass {
    fn of(token: Token, now: Instant) -> Self {
        // a token that lasts for less is used for half of its life
        let used = token.lasts.checked_sub(RENEWED_BEFORE_END).unwrap_or_default();
        Self { text: token.text, used_until: now + used.max(token.lasts / 2) }
    }

    fn is_usable(&self, now: Instant) -> bool {
        now < self.used_until
    }
}

#[cfg(test)]
impl Person {
    pub fn for_test(handle: &str) -> Self {
        let token = Token { text: String::new(), lasts: Duration::ZERO };
        let pass = Mutex::new(Pass::of(token, Instant::now()));
        Self { id: handle.to_owned(), handle: handle.to_owned(), pass }
    }
}

impl Api {
    pub fn of(system: &System) -> Done<Self> {
        let pool = system.user_pool()?;
        Ok(Self {
            url: system.servers.url.clone(),
            endpoint: pool.endpoint.to_owned(),
            pool: pool.pool.to_owned(),
            client: pool.client.to_owned(),
        })
    }

    fn user_pool(&self) -> UserPool<'_> {
        UserPool { endpoint: &self.endpoint, pool: &self.pool, client: &self.client }
    }

    /// Signs a demo user up.
    pub fn join(&self, handle: &str) -> Done<Person> {
        let pool = self.user_pool();
        pool.sign_up(handle)?;
        let pass = Mutex::new(Pass::of(pool.sign_in(handle)?, Instant::now()));
        Ok(Person { id: String::new(), handle: handle.to_owned(), pass })
    }

    /// Calls the API as a person. Returns the body of an answer with a status of success.
    pub fn call(
        &self,
        person: &Person,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Done<Value> {
        let (mut status, mut answer) = self.once(person, method, path, body)?;
        if status == 401 {
            let mut pass = person.pass.lock().unwrap_or_else(PoisonError::into_inner);
            pass.used_until = Instant::now();
            drop(pass);
            (status, answer) = self.once(person, method, path, body)?;
        }
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        Err(failure(format!("demo data: {method} {path} answered {status} {answer}")))
    }

    fn once(
        &self,
        person: &Person,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Done<(u16, Value)> {
        let bearer = format!("Bearer {}", self.token(person)?);
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        http::call_within(CALL_WITHIN, method, &format!("{}{path}", self.url), &headers, body)
    }

    fn token(&self, person: &Person) -> Done<String> {
        let mut pass = person.pass.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if !pass.is_usable(now) {
            *pass = Pass::of(self.user_pool().sign_in(&person.handle)?, now);
        }
        Ok(pass.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        let now = Instant::now();
        let pass =
            |lasts| Pass::of(Token { text: String::new(), lasts: Duration::from_secs(lasts) }, now);
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(pass(3_600).is_usable(after(3_299)) && !pass(3_600).is_usable(after(3_300)));
        assert!(pass(300).is_usable(after(149)) && !pass(300).is_usable(after(150)));
        assert!(!pass(0).is_usable(now));
    }
}
