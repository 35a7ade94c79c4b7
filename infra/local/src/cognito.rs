//! Tokens from the stack's own user pool.

use serde_json::{Value, json};

use crate::cloud;
use crate::failure::{Done, failure};

/// Every demo user's password: it opens nothing beyond this machine.
const PASSWORD: &str = "Fanfold-demo-1";

pub struct UserPool<'a> {
    pub endpoint: &'a str,
    pub pool: &'a str,
    pub client: &'a str,
}

impl UserPool<'_> {
    /// Signs a user in, who is signed up first if need be, and gives an access token.
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
        token.map(str::to_owned).ok_or_else(|| failure("the user pool gave no token"))
    }

    fn call(&self, operation: &str, body: &Value) -> Done<Value> {
        let target = format!("AWSCognitoIdentityProviderService.{operation}");
        cloud::call(self.endpoint, &target, "1.1", body)
    }
}
