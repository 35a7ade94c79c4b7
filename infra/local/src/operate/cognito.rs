//! Tokens of the stack's own user pool.

use serde_json::{Value, json};

use crate::base::failure::{Done, failure};
use crate::launch::cloud;

/// The password of every demo user. It is of no use outside this machine.
const PASSWORD: &str = "Fanfold-demo-1";

pub struct UserPool<'a> {
    pub endpoint: &'a str,
    pub pool: &'a str,
    pub client: &'a str,
}

impl UserPool<'_> {
    /// Signs a user in, after signing a new user up, and returns an access token.
    pub fn token(&self, name: &str) -> Done<String> {
        let signed_up = self.call(
            "SignUp",
            &json!({"ClientId": self.client, "Username": name, "Password": PASSWORD}),
        );
        if signed_up.is_ok() {
            self.call("AdminConfirmSignUp", &json!({"UserPoolId": self.pool, "Username": name}))?;
        }
        let answer = self.call(
            "InitiateAuth",
            &json!({
                "AuthFlow": "USER_PASSWORD_AUTH",
                "ClientId": self.client,
                "AuthParameters": {"USERNAME": name, "PASSWORD": PASSWORD},
            }),
        )?;
        let token = answer.pointer("/AuthenticationResult/AccessToken").and_then(Value::as_str);
        token.map(str::to_owned).ok_or_else(|| failure("the user pool returned no token"))
    }

    fn call(&self, operation: &str, body: &Value) -> Done<Value> {
        let target = format!("AWSCognitoIdentityProviderService.{operation}");
        cloud::call(self.endpoint, &target, "1.1", body)
    }
}
