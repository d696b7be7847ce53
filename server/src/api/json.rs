//! JSON bodies: read to their end, bounded, refused with a reason.

use axum::{
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::{Deserialize, DeserializeOwned, IgnoredAny};
use serde_json::error::Category;
use utoipa::IntoResponses;

use crate::http::Problem;

/// The most bytes of a body, 64 KiB: far more than any request of the API needs.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What a [`Body`] may be refused for.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) enum BodyRefused {
    /// `bad_json`
    #[response(status = 400)]
    Syntax,
    /// `too_large`: a body of more than 64 KiB
    #[response(status = 413)]
    Size,
    /// `unsupported_media_type`
    #[response(status = 415)]
    Type,
    /// `bad_field`
    #[response(status = 422)]
    Field,
}

/// A request's body as `T`, of at most [`BODY_BYTES_MAX`].
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let (head, body) = request.into_parts();
        let text = text(&head.headers, body).await?;
        object(&text).map(Self).map_err(IntoResponse::into_response)
    }
}

/// A body of at most [`BODY_BYTES_MAX`] whose headers say that it is JSON, to its end, unread.
///
/// # Errors
/// The answer that refuses it.
pub(super) async fn text(headers: &HeaderMap, body: axum::body::Body) -> Result<Bytes, Response> {
    text_up_to(headers, body, BODY_BYTES_MAX).await
}

/// The same of at most `bytes_max`.
///
/// # Errors
/// The answer that refuses it.
pub(super) async fn text_up_to(
    headers: &HeaderMap,
    body: axum::body::Body,
    bytes_max: usize,
) -> Result<Bytes, Response> {
    if let Some(refusal) = no_plain_json(headers) {
        return Err(refusal);
    }
    match Limited::new(body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(bytes_max).into_response()),
        Err(error) => Err(broken(error.as_ref()).into_response()),
    }
}

/// Reads a whole text that must be an object. Serde takes a list for one, its members in order.
///
/// # Errors
/// What is wrong, and where.
pub(super) fn object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Problem> {
    if text.trim_ascii_start().first() != Some(&b'{') {
        let IgnoredAny = parse(text)?;
        return Err(bad_field("this must be an object".to_owned()));
    }
    parse(text)
}

/// Reads a whole text. Members that are unknown, doubled or missing are errors.
///
/// # Errors
/// What is wrong, and where.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Problem> {
    // To keep track of the place costs more than reading: only who is wrong pays for it.
    serde_json::from_slice(text).or_else(|_| parse_with_place(text))
}

fn parse_with_place<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        match error.classify() {
            Category::Data if path != "." => bad_field(format!("{path}: {error}")),
            Category::Data => bad_field(error.to_string()),
            Category::Io | Category::Syntax | Category::Eof => bad_json(&error),
        }
    })?;
    reader.end().map_err(|error| bad_json(&error))?;
    Ok(value)
}

fn bad_field(detail: String) -> Problem {
    super::named::bad_field(detail)
}

fn bad_json(error: &serde_json::Error) -> Problem {
    let title = "The body is no JSON";
    Problem::new(StatusCode::BAD_REQUEST, "bad_json", title).detail(error.to_string())
}

/// The rest of the body did not come, or not in time.
fn broken(error: &(dyn std::error::Error + 'static)) -> Problem {
    let title = "The body cannot be read";
    Problem::new(StatusCode::BAD_REQUEST, "bad_body", title).detail(error.to_string())
}

fn too_large(bytes_max: usize) -> Problem {
    let title = "The body is too large";
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", title)
        .detail(format!("at most {bytes_max} bytes"))
}

/// The answer to a body that is not JSON as it comes: it names what would be.
fn no_plain_json(headers: &HeaderMap) -> Option<Response> {
    let coded = headers.get(header::CONTENT_ENCODING);
    let (name, value, detail) = if coded.is_some_and(|coding| coding != "identity") {
        let detail = "bodies must not be compressed";
        (header::ACCEPT_ENCODING, "identity", detail)
    } else if !headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| is_json(value.as_bytes()))
    {
        let detail = "the Content-Type must be application/json";
        (header::ACCEPT, "application/json", detail)
    } else {
        return None;
    };
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let title = "Send the body as application/json";
    let problem = Problem::new(status, "unsupported_media_type", title).detail(detail);
    Some(([(name, HeaderValue::from_static(value))], problem).into_response())
}

/// `application/json`, or a type that says by `+json` that it is JSON; parameters mean nothing.
fn is_json(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next();
    let essence = essence.unwrap_or_default().trim_ascii();
    essence.eq_ignore_ascii_case(b"application/json") || is_kind_of_json(essence)
}

fn is_kind_of_json(essence: &[u8]) -> bool {
    let essence = essence.to_ascii_lowercase();
    essence.starts_with(b"application/") && essence.ends_with(b"+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        one: u8,
        more: Vec<u8>,
    }

    fn refused(text: &str) -> (u16, serde_json::Value) {
        let problem = object::<Pair>(text.as_bytes()).unwrap_err();
        (
            problem.status().as_u16(),
            problem.to_json()["detail"].take(),
        )
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let pair = object::<Pair>(b" {\"one\":1,\"more\":[2]} ").unwrap();
        assert_eq!(
            pair,
            Pair {
                one: 1,
                more: vec![2]
            }
        );
        for (text, status, says) in [
            ("", 400, "EOF"),
            ("{\"one\":1,\"more\":[2]} x", 400, "trailing"),
            ("{\"one\":1,\"more\":[2],}", 400, "trailing comma"),
            ("{\"one\":1,\"more\":[2,300]}", 422, "more[1]: "),
            (
                "{\"one\":1,\"one\":1,\"more\":[]}",
                422,
                "duplicate field `one`",
            ),
            (
                "{\"one\":1,\"more\":[],\"two\":2}",
                422,
                "unknown field `two`",
            ),
            ("{\"one\":1}", 422, "missing field `more`"),
            ("[1,[2]]", 422, "must be an object"),
            ("null", 422, "must be an object"),
            ("[1,", 400, "EOF"),
        ] {
            let (found, detail) = refused(text);
            assert_eq!(found, status, "{text}");
            assert!(detail.as_str().unwrap().contains(says), "{text}: {detail}");
        }
    }

    #[test]
    fn only_what_says_that_it_is_json_is_read() {
        for json in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/merge-patch+json",
        ] {
            assert!(is_json(json.as_bytes()), "{json}");
        }
        for other in [
            "",
            "text/json",
            "application/jsonp",
            "text/plain; a=application/json",
        ] {
            assert!(!is_json(other.as_bytes()), "{other}");
        }
    }
}
