//! `GET /api/openapi.json`: what the API can be asked and what it answers, as OpenAPI 3.1.
//!
//! It is made of what stands at the handlers: a route cannot be added without it. What holds
//! for all of them is added here: who may ask at all, and the shape of problems.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, Method, header};
use utoipa::{
    Modify, OpenApi as _,
    openapi::{
        Content, ContentBuilder, OpenApi, Ref, RefOr, Response as Answer, ResponseBuilder,
        path::{Operation, Parameter, ParameterIn, PathItem},
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};

use crate::http::{Health, ProblemDocument, needs_token};

/// The document as bytes: it is the same for as long as the process lives.
static TEXT: LazyLock<Bytes> = LazyLock::new(|| {
    // Plain maps and texts: they can always be written.
    let text = serde_json::to_vec_pretty(&document()).unwrap_or_default();
    text.into()
});

/// The answers that any route may give, before it is reached or instead.
const EVERYWHERE: [(&str, &str); 5] = [
    (
        "400",
        "`bad_query`: a parameter that is not documented, or one that cannot be read",
    ),
    ("400", "`host_missing`: a request names exactly one host"),
    (
        "403",
        "`forwarded`: without sign-in, what came through a proxy is refused",
    ),
    (
        "406",
        "`not_acceptable`: `Accept` rules out what this answers with",
    ),
    ("421", "`unknown_host`: not one of `server.allowed_hosts`"),
];

/// The further answers of routes that need a token.
const WITH_TOKEN: [(&str, &str); 4] = [
    ("400", "`bad_header`: several `Authorization` headers"),
    (
        "401",
        "`unauthorized`: no valid token; `WWW-Authenticate` names the scheme",
    ),
    (
        "403",
        "`scope_missing`, `role_missing`, `upstream_not_allowed`, `app_not_allowed`, `app_missing`, \
         `site_not_allowed`, `user_not_allowed`: the token may not do this",
    ),
    ("503", "`storage`: the tokens cannot be read"),
];

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Spillway",
        description = "Keeps applications inside the limits of the APIs they call.\n\nErrors are \
            `application/problem+json` (RFC 9457) with a `code` that stays the same. Requests with \
            unknown members or parameters are refused. Durations end in `_ms` and are wall time; \
            instants are RFC 3339 in UTC.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "permits", description = "For callers that call the upstream themselves"),
        (name = "state", description = "Limits, lanes, breakers and users, as they are now"),
        (name = "steering", description = "What operators do"),
        (name = "policies", description = "The limits, as they are changed"),
        (name = "access", description = "Accounts and tokens"),
        (name = "floods", description = "Events counted, floods stopped, lists put right"),
        (name = "audit", description = "Who did what"),
        (name = "health", description = "Whether it is up, and how it is"),
    ),
    components(schemas(ProblemDocument)),
    modifiers(&Tokens)
)]
struct Described;

/// Who may ask.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut OpenApi) {
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "An API token, `Authorization: Bearer …`. A server that runs `--open` asks for none.",
            ))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token));
    }
}

/// The document.
#[must_use]
pub fn document() -> OpenApi {
    let mut document = Described::openapi();
    document.merge(super::described().into_openapi());
    document.merge(Health::described().into_openapi());
    for (path, item) in &mut document.paths.paths {
        let with_token = needs_token(path);
        for (_, operation) in operations(item) {
            complete(operation, with_token);
        }
    }
    document
}

/// Adds what no handler says.
fn complete(operation: &mut Operation, with_token: bool) {
    let answers = &mut operation.responses.responses;
    let more = if with_token { &WITH_TOKEN[..] } else { &[] };
    for (status, description) in EVERYWHERE.iter().chain(more) {
        match answers.get_mut(*status) {
            Some(answer) => also(answer, description),
            None => drop(answers.insert((*status).to_owned(), answer(description))),
        }
    }
    for (status, answer) in answers {
        as_problem(status, answer);
    }
    if with_token {
        // The second: none, of a server that is open.
        let token = SecurityRequirement::new::<_, [&str; 0], &str>("token", []);
        operation.security = Some(vec![token, SecurityRequirement::default()]);
    }
}

/// The document as it is answered, JSON.
#[must_use]
pub fn document_text() -> Bytes {
    TEXT.clone()
}

/// Read this document
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    tag = "health",
    operation_id = "getOpenApi",
    responses((
        status = 200, description = "OpenAPI 3.1", body = Object
    ))
)]
pub(super) async fn get() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-cache"),
    ]
    .map(|(name, value)| (name, HeaderValue::from_static(value)));
    (headers, document_text()).into_response()
}

/// The names that each operation, by its route and method, can be asked by query.
pub(super) fn query_parameters() -> Vec<(String, Method, Vec<String>)> {
    let mut all = Vec::new();
    for (path, mut item) in document().paths.paths {
        for (method, operation) in operations(&mut item) {
            let parameters = operation.parameters.iter().flatten();
            let names = parameters.filter_map(asked_by_query).collect();
            all.push((path.clone(), method, names));
        }
    }
    all
}

fn asked_by_query(parameter: &RefOr<Parameter>) -> Option<String> {
    match parameter {
        RefOr::T(it) if it.parameter_in == ParameterIn::Query => Some(it.name.clone()),
        _ => None,
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let PathItem {
        get,
        put,
        post,
        delete,
        ..
    } = item;
    let all = [
        (Method::GET, get),
        (Method::PUT, put),
        (Method::POST, post),
        (Method::DELETE, delete),
    ];
    all.into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn answer(description: &str) -> RefOr<Answer> {
    RefOr::T(ResponseBuilder::new().description(description).build())
}

/// Adds a cause to an answer.
fn also(answer: &mut RefOr<Answer>, description: &str) {
    if let RefOr::T(answer) = answer {
        answer.description = format!("{}; {description}", answer.description);
    }
}

/// Errors that say nothing else of their body are problems.
fn as_problem(status: &str, answer: &mut RefOr<Answer>) {
    if let RefOr::T(answer) = answer
        && status.starts_with(['4', '5'])
        && answer.content.is_empty()
    {
        let content = &mut answer.content;
        content.insert("application/problem+json".to_owned(), problem());
    }
}

fn problem() -> RefOr<Content> {
    let schema = Ref::from_schema_name("Problem");
    RefOr::T(ContentBuilder::new().schema(Some(schema)).build())
}

#[cfg(test)]
mod tests;
