//! Completes the API description: the security, answers and headers that every operation has.

use std::collections::BTreeMap;

use utoipa::ToSchema;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{
    Components, Content, Object, ObjectBuilder, OpenApi, Ref, RefOr, Response, Schema, Type,
};

use crate::problem::{GatewayMessage, ProblemBody};

const REQUEST_ID: &str = "RequestId";
const RETRY_AFTER: &str = "RetryAfter";
const WWW_AUTHENTICATE: &str = "WwwAuthenticate";

/// The name of the scheme of tokens.
pub const TOKEN: &str = "jwt";

/// The tag of operations that need no token.
const OPEN: &str = "specification";

type Responses = BTreeMap<String, RefOr<Response>>;

/// Answers of functions, for every operation that requires a token.
const OF_CALLERS: &[(&str, &str)] = &[
    (
        "500",
        "An item that the request needs cannot be read, or a store refuses what the request would write. A retry \
        does not help.",
    ),
    ("503", "A store did not answer. Nothing was lost; try again."),
];

/// Answers of an operation with a body.
const OF_BODIES: &[(&str, &str)] = &[
    ("400", "The body or a parameter is invalid."),
    ("413", "The body is too large."),
    ("415", "The Content-Type is not application/json."),
];

/// Answers of an operation without a body.
const OF_PARAMETERS: &[(&str, &str)] = &[("400", "An id or a parameter is invalid.")];

/// Statuses that the gateway answers by itself, with the descriptions that they have where a function does not use them.
const OF_THE_GATEWAY: &[(&str, &str)] = &[
    ("429", "All callers together send too many requests. Nothing was done; try again later."),
    ("500", "The function failed."),
    ("503", "The function did not answer in time."),
];

/// Adds to every operation of a description what its handler does not say.
pub fn add(api: &mut OpenApi) {
    components(api.components.get_or_insert_default());
    for item in api.paths.paths.values_mut() {
        let methods =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        methods.into_iter().flatten().for_each(operation);
    }
}

fn components(components: &mut Components) {
    schema::<GatewayMessage>(components);
    schema::<ProblemBody>(components);
    let text = || Object::with_type(Type::String);
    for (name, schema, description) in [
        (REQUEST_ID, text(), "The id of the request. Include it when you report a problem."),
        (RETRY_AFTER, Object::with_type(Type::Integer), "Seconds to wait before the next try."),
        (WWW_AUTHENTICATE, text(), "The reason why the token is refused."),
    ] {
        let header = HeaderBuilder::new().schema(Some(schema)).description(Some(description));
        components.headers.insert(name.to_owned(), RefOr::T(header.build()));
    }
}

fn schema<T: ToSchema>(components: &mut Components) {
    components.schemas.insert(T::name().into_owned(), T::schema());
}

fn operation(operation: &mut Operation) {
    let open = operation.tags.iter().flatten().any(|tag| tag == OPEN);
    let token = SecurityRequirement::new(TOKEN, [""; 0]);
    operation.security = Some(if open { Vec::new() } else { vec![token] });
    let own = if operation.request_body.is_some() { OF_BODIES } else { OF_PARAMETERS };
    let responses = &mut operation.responses.responses;
    if !open {
        let refused = answer(responses, "401", "The token is missing, invalid or expired.");
        body::<GatewayMessage>(refused, "application/json");
        for (status, description) in OF_CALLERS.iter().chain(own) {
            answer(responses, status, description);
        }
        for (status, response) in responses.iter_mut() {
            let RefOr::T(response) = response else { continue };
            if status.starts_with(['4', '5']) && response.content.is_empty() {
                body::<ProblemBody>(response, "application/problem+json");
            }
        }
    }
    for (status, description) in OF_THE_GATEWAY {
        body::<GatewayMessage>(answer(responses, status, description), "application/json");
    }
    for (status, response) in responses.iter_mut() {
        let RefOr::T(response) = response else { continue };
        let mut add = |name: &str, header: &str| {
            let header = Ref::new(format!("#/components/headers/{header}"));
            response.headers.insert(name.to_owned(), RefOr::Ref(header));
        };
        match status.as_str() {
            "401" => add("WWW-Authenticate", WWW_AUTHENTICATE),
            "500" => {}
            "429" | "503" => {
                add("Retry-After", RETRY_AFTER);
                add("x-request-id", REQUEST_ID);
            }
            _ => add("x-request-id", REQUEST_ID),
        }
    }
}

/// The answer with this status, which gets the description if it is new.
fn answer<'a>(responses: &'a mut Responses, status: &str, description: &str) -> &'a mut Response {
    let new = || RefOr::T(Response::new(description));
    match responses.entry(status.to_owned()).or_insert_with(new) {
        RefOr::T(response) => response,
        RefOr::Ref(_) => unreachable!("handlers describe their own answers"),
    }
}

fn body<T: ToSchema>(response: &mut Response, content_type: &str) {
    let body = Content::new(Some(Ref::from_schema_name(T::name())));
    response.content.insert(content_type.to_owned(), body.into());
}

/// The schema of a string with a description, a pattern and a maximum length in code points.
pub fn text(description: &str, pattern: String, chars_max: usize) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).description(Some(description));
    RefOr::T(text.pattern(Some(pattern)).max_length(Some(chars_max)).build().into())
}
