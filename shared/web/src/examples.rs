//! The examples of the API description: requests in an order in which they work, with their answers. A test plays them with
//! the deployed stack, so they are true.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, PathItem};
use utoipa::openapi::{Content, OpenApi, RefOr, Schema};

const EXAMPLES_JSON: &str = include_str!("../examples.json");

/// Values by name. A string `{name}` in a step stands for a value, and `{name}` in a longer string for a text.
pub type Values = Map<String, Value>;

/// The examples.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// What each user of the API chooses, such as a handle, and times in the future, as the description shows them.
    pub chosen: Values,
    /// What the API makes, such as ids, as the description shows it.
    pub made: Values,
    /// The requests, in order.
    pub steps: Vec<ExampleStep>,
}

/// A request with its answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleStep {
    /// The title of the example. A step without one is not shown: later steps need it.
    pub title: Option<String>,
    /// Only its request is shown, in the list of requests: its answer has the form of another one.
    #[serde(default)]
    pub only_listed: bool,
    /// The `operationId`.
    pub call: String,
    /// The name of the caller. Without it, there is no token.
    pub by: Option<String>,
    /// The parameters of the path.
    #[serde(default)]
    pub path: Values,
    /// The parameters of the query.
    #[serde(default)]
    pub query: Values,
    #[serde(default)]
    pub headers: Values,
    pub body: Option<Value>,
    pub status: u16,
    /// The body of the answer.
    pub answer: Option<Value>,
    /// The answer becomes this one within some seconds, by messages of earlier steps.
    #[serde(default)]
    pub soon: bool,
    /// How the real answer is compared with `answer`.
    #[serde(default)]
    pub compare: Compare,
}

/// How much of an answer an example gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// All of it.
    #[default]
    All,
    /// Its form: which items the answer has depends on all users.
    Form,
    /// Some of its fields.
    Part,
}

impl Examples {
    /// Reads the examples.
    pub fn read() -> Result<Self, serde_json::Error> {
        serde_json::from_str(EXAMPLES_JSON)
    }

    /// All values, as the description shows them.
    pub fn shown(&self) -> Values {
        self.chosen
            .iter()
            .chain(&self.made)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

/// The name in a string that stands for a value.
pub fn name_in(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
}

/// Replaces the names in a value.
pub fn fill(value: &Value, values: &Values) -> Value {
    match value {
        Value::String(text) => match name_in(text).and_then(|name| values.get(name)) {
            Some(value) => value.clone(),
            None => Value::String(fill_text(text, values)),
        },
        Value::Array(items) => items.iter().map(|item| fill(item, values)).collect(),
        Value::Object(fields) => fill_all(fields, values).into(),
        other => other.clone(),
    }
}

/// Replaces the names in each of several values.
pub fn fill_all(fields: &Values, values: &Values) -> Values {
    fields.iter().map(|(name, value)| (name.clone(), fill(value, values))).collect()
}

fn fill_text(text: &str, values: &Values) -> String {
    let mut filled = text.to_owned();
    for (name, value) in values {
        if let Some(value) = value.as_str() {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
    }
    filled
}

/// Adds the examples to the operations of a description.
pub fn add(api: &mut OpenApi, examples: &Examples) {
    let values = examples.shown();
    for (path, item) in &mut api.paths.paths {
        for (method, operation) in operations(item) {
            let is_of = |step: &&ExampleStep| operation.operation_id.as_ref() == Some(&step.call);
            let steps: Vec<_> = examples.steps.iter().filter(is_of).collect();
            let shown: Vec<_> =
                steps.iter().filter_map(|step| Some((step.title.as_deref()?, *step))).collect();
            describe(operation, method, path, &shown, &values);
        }
    }
}

/// The operations of a path, by their methods.
pub(crate) fn operations(
    item: &mut PathItem,
) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    let methods =
        [("GET", get), ("PUT", put), ("POST", post), ("DELETE", delete), ("PATCH", patch)];
    methods.into_iter().filter_map(|(name, operation)| Some((name, operation.as_mut()?)))
}

/// Adds the parameters of the first accepted request, which tools offer to send; the bodies and the answers; and, if there
/// are several examples, a list of the requests.
fn describe(
    operation: &mut Operation,
    method: &str,
    path: &str,
    steps: &[(&str, &ExampleStep)],
    values: &Values,
) {
    let accepted = |step: &ExampleStep| step.status < 400;
    if let Some((_, first)) = steps.iter().find(|(_, step)| accepted(step)) {
        for parameter in operation.parameters.iter_mut().flatten() {
            if let RefOr::T(parameter) = parameter {
                prefill(parameter, first, values);
            }
        }
    }
    for (title, step) in steps.iter().filter(|(_, step)| !step.only_listed) {
        if let (Some(body), Some(RefOr::T(request))) = (&step.body, &mut operation.request_body)
            && accepted(step)
        {
            request.content.values_mut().for_each(|content| put(content, title, body, values));
        }
        let response = operation.responses.responses.get_mut(&step.status.to_string());
        if let (Some(answer), Some(RefOr::T(response))) = (&step.answer, response) {
            let is_problem = answer.get("type").is_some();
            let kind = if is_problem { "application/problem+json" } else { "application/json" };
            if let Some(content) = response.content.get_mut(kind) {
                put(content, title, answer, values);
            }
        }
    }
    if steps.len() > 1 {
        let lines = steps.iter().map(|(title, step)| {
            let status = step.status;
            format!("- {title}: `{}` → {status}\n", line(method, path, step, values))
        });
        let text = operation.description.take().map(|text| text + "\n\n").unwrap_or_default();
        let text = format!("{text}Examples:\n\n{}", lines.collect::<String>());
        operation.description = Some(text.trim_end().to_owned());
    }
}

/// Adds the value of a parameter. A default is the better offer, and excludes an example.
fn prefill(parameter: &mut Parameter, step: &ExampleStep, values: &Values) {
    if has_default(parameter) {
        return;
    }
    let given = [&step.path, &step.query, &step.headers];
    let value = given.into_iter().find_map(|given| given.get(&parameter.name));
    if let Some(value) = value {
        let new = ParameterBuilder::from(std::mem::take(parameter));
        *parameter = new.example(Some(fill(value, values))).build();
    }
}

fn has_default(parameter: &Parameter) -> bool {
    match &parameter.schema {
        Some(RefOr::T(Schema::Object(schema))) => schema.default.is_some(),
        _ => false,
    }
}

fn put(content: &mut RefOr<Content>, title: &str, value: &Value, values: &Values) {
    let RefOr::T(content) = content else { return };
    let example = ExampleBuilder::new().summary(title).value(Some(fill(value, values)));
    let name = (content.examples.len() + 1).to_string();
    content.examples.insert(name, RefOr::T(example.build()));
}

/// The first line of a request.
fn line(method: &str, path: &str, step: &ExampleStep, values: &Values) -> String {
    let text = |value: &Value| match fill(value, values) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let names: BTreeMap<_, _> = step.path.iter().map(|(name, value)| (name, text(value))).collect();
    let filled = names
        .iter()
        .fold(path.to_owned(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value));
    let query: Vec<_> =
        step.query.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let headers: String =
        step.headers.iter().map(|(name, value)| format!(" with {name}: {}", text(value))).collect();
    format!("{method} {filled}{query}{headers}")
}
