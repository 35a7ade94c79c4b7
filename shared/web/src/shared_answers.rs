//! Completes the API description: answers of the gateway itself and headers, which every operation has.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{
    Components, Content, Object, ObjectBuilder, OpenApi, Ref, RefOr, Response, Schema, Type,
};
use utoipa::{PartialSchema as _, ToSchema as _};

use crate::problem::GatewayMessage;

const REQUEST_ID: &str = "RequestId";
const RETRY_AFTER: &str = "RetryAfter";
const WWW_AUTHENTICATE: &str = "WwwAuthenticate";

/// Statuses that the gateway answers by itself, with their descriptions.
const GATEWAY: [(&str, &str); 3] = [
    ("429", "All callers together send too many requests. Nothing was done; try again later."),
    ("500", "The function failed."),
    ("503", "The function did not answer in time."),
];

/// Adds the gateway's answers and the headers to every operation of a description.
pub fn add(api: &mut OpenApi) {
    components(api.components.get_or_insert_default());
    for item in api.paths.paths.values_mut() {
        let methods =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        methods.into_iter().flatten().for_each(operation);
    }
}

fn components(components: &mut Components) {
    components.schemas.insert(GatewayMessage::name().into_owned(), GatewayMessage::schema());
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

fn operation(operation: &mut Operation) {
    // an operation that needs no token says so
    operation.security.get_or_insert_default();
    let responses = &mut operation.responses.responses;
    for (status, description) in GATEWAY {
        let response = responses
            .entry(status.to_owned())
            .or_insert_with(|| RefOr::T(Response::new(description)));
        if let RefOr::T(response) = response {
            let body = Content::new(Some(Ref::from_schema_name(GatewayMessage::name())));
            response.content.insert("application/json".to_owned(), body.into());
        }
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

/// The schema of a string with a description, a pattern and a maximum length in code points.
pub fn text(description: &str, pattern: String, chars_max: usize) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).description(Some(description));
    RefOr::T(text.pattern(Some(pattern)).max_length(Some(chars_max)).build().into())
}
