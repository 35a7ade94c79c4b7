//! The settings of a function, from its environment.
//!
//! A function reads them when it starts. Each store parses its own settings, and an error names the setting.
//! Three variables are read elsewhere, also at the start: `_HANDLER` (the function to run), `LOG_LEVEL`
//! ([`log`](crate::log)) and `AWS_LAMBDA_FUNCTION_NAME` ([`metrics`](crate::metrics)). The AWS SDK and the
//! Lambda runtime read variables of their own.

use std::collections::HashMap;
use std::fmt;

use fanfold_core::registry::FunctionSpec;

/// A setting that is missing or has a bad value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The setting is not there, or is empty.
    #[error("the setting {0} is missing")]
    Missing(&'static str),
    /// The function does not list the setting in the registry, so it has no right to use it.
    #[error("the function {function} does not list {name} in the registry")]
    Unlisted { function: &'static str, name: &'static str },
    /// The value is not allowed. `takes` describes the allowed values.
    #[error("the setting {name} is {value:?}, but must be {takes}")]
    Bad { name: &'static str, value: String, takes: String },
}

/// The settings of a function.
#[derive(Clone, Default)]
pub struct Config {
    values: HashMap<String, String>,
    /// The function, which may use the tables and queues alone that it lists in the registry. `None`: all of them.
    function: Option<&'static FunctionSpec>,
}

/// Shows the names only, because values can be credentials.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Config {
    /// Reads all variables of the environment.
    pub fn from_env() -> Self {
        Self::from_pairs(std::env::vars())
    }

    /// Settings from names and values.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let values = pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        Self { values, function: None }
    }

    /// The settings of one function.
    #[must_use]
    pub fn of(self, function: &'static FunctionSpec) -> Self {
        Self { function: Some(function), ..self }
    }

    /// The name of a table or the URL of a queue. Fails with [`ConfigError::Unlisted`] if the function does not list it.
    pub fn store(&self, name: &'static str) -> Result<String, ConfigError> {
        match self.function {
            Some(function) if !function.own_settings().contains(&name) => {
                Err(ConfigError::Unlisted { function: function.name, name })
            }
            _ => self.text(name),
        }
    }

    /// The value of a setting, trimmed. Fails if the setting is missing or empty.
    pub fn text(&self, name: &'static str) -> Result<String, ConfigError> {
        match self.values.get(name).map(|value| value.trim()) {
            None | Some("") => Err(ConfigError::Missing(name)),
            Some(value) => Ok(value.to_owned()),
        }
    }

    /// The value of a setting as a whole number, or `default` if the setting is missing or empty. Fails if the
    /// value is not a number in `allowed`.
    pub fn number(
        &self,
        name: &'static str,
        default: u64,
        allowed: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        let Ok(value) = self.text(name) else { return Ok(default) };
        match value.parse() {
            Ok(number) if allowed.contains(&number) => Ok(number),
            _ => {
                let takes = format!("a whole number from {} to {}", allowed.start(), allowed.end());
                Err(ConfigError::Bad { name, value, takes })
            }
        }
    }
}
