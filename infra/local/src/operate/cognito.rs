//! Tokens of the stack's own user pool.

use std::time::Duration;

use serde_json::{Value, json};

use crate::base::failure::{Done, failure};
use crate::launch::cloud;
use crate::launch::demo::people::PASSWORD;

pub struct UserPool<'a> {
    pub endpoint: &'a str,
    pub pool: &'a str,
    pub client: &'a str,
}

/// An access token.
pub struct Token {
    pub text: String,
    /// How long it is valid.
    pub lasts: Duration,
}

impl UserPool<'_> {
    /// Signs a user in, after signing a new user up, and returns an access token.
    pub fn token(&self, name: &str) -> Done<String> {
        self.sign_up(name)?;
        self.sign_in(name).map(|token| token.text)
    }

    /// Signs a user up, with an email address that counts as proven. A user who exists stays as it is.
    pub fn sign_up(&self, name: &str) -> Done<()> {
        let email = json!([{"Name": "email", "Value": format!("{name}@example.com")}]);
        let signed_up = self.call(
            "SignUp",
            &json!({
                "ClientId": self.client, "Username": name, "Password": PASSWORD,
                "UserAttributes": email,
            }),
        );
        if signed_up.is_ok() {
            self.call("AdminConfirmSignUp", &json!({"UserPoolId": self.pool, "Username": name}))?;
            let proven = json!([{"Name": "email_verified", "Value": "true"}]);
            self.call(
                "AdminUpdateUserAttributes",
                &json!({"UserPoolId": self.pool, "Username": name, "UserAttributes": proven}),
            )?;
        }
        Ok(())
    }

    /// Signs in a user who has signed up.
    pub fn sign_in(&self, name: &str) -> Done<Token> {
        let answer = self.call(
            "InitiateAuth",
            &json!({
                "AuthFlow": "USER_PASSWORD_AUTH",
                "ClientId": self.client,
                "AuthParameters": {"USERNAME": name, "PASSWORD": PASSWORD},
            }),
        )?;
        let result = |field: &str| answer.pointer(&format!("/AuthenticationResult/{field}"));
        let text = result("AccessToken").and_then(Value::as_str);
        let text = text.ok_or_else(|| failure("the user pool returned no token"))?.to_owned();
        let seconds = result("ExpiresIn").and_then(Value::as_u64).unwrap_or_default();
        Ok(Token { text, lasts: Duration::from_secs(seconds) })
    }

    fn call(&self, operation: &str, body: &Value) -> Done<Value> {
        let target = format!("AWSCognitoIdentityProviderService.{operation}");
        cloud::call(self.endpoint, &target, "1.1", body)
    }
}
