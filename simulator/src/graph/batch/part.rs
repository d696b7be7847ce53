//! One part of a batch: a call, and its answer as a member of the batch's.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::parse::Part;
use crate::faults::Cut;
use crate::graph::answer::Answer;
use crate::graph::call::Call;
use crate::graph::errors::GraphError;
use crate::graph::perform;
use crate::simulator::Simulator;

const JSON: &str = "application/json";

/// What is told of one part.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) id: String,
    /// Where the whole batch is to break off.
    pub(super) cut: Option<Cut>,
    status: u16,
    headers: BTreeMap<String, String>,
    body: Option<Value>,
}

impl Told {
    /// Whether what depends on it is in vain.
    pub(super) fn failed(&self) -> bool {
        self.status >= 400
    }

    pub(super) fn json(&self) -> Value {
        let mut told = json!({
            "id": self.id,
            "status": self.status,
            "headers": self.headers,
        });
        if let Some(body) = &self.body {
            told["body"] = body.clone();
        }
        told
    }
}

/// Runs a part as the call that it is.
pub(super) async fn run(
    simulator: &Simulator,
    version: &str,
    envelope: &HeaderMap,
    part: &Part,
) -> Told {
    let headers = headers(envelope, &part.headers);
    let call = Call::begin(simulator, &headers);
    let Some(request) = request(version, headers, part) else {
        return told(part, GraphError::encoding().answer(&call));
    };
    match perform(simulator, &call, &request).await {
        Ok(performed) => {
            // The fault's own headers stand in the part's answer.
            let answer = performed
                .answer
                .with_headers(performed.fault.header_pairs());
            let cut = performed.fault.cut;
            Told {
                cut,
                ..told(part, answer)
            }
        }
        Err(error) => told(part, error.answer(&call)),
    }
}

/// It was not run: a part that it depends on failed.
pub(super) fn failed_dependency(part: &Part) -> Told {
    let message = "The request depends on one that has failed.";
    let body = json!({"error": {"code": "FailedDependency", "message": message}});
    Told {
        id: part.id.clone(),
        cut: None,
        status: 424,
        headers: BTreeMap::from([("Content-Type".to_owned(), JSON.to_owned())]),
        body: Some(body),
    }
}

fn told(part: &Part, answer: Answer) -> Told {
    let body = match answer.bytes() {
        Some(bytes) if bytes.is_empty() => None,
        Some(bytes) if answer.content_type.starts_with(JSON) => serde_json::from_slice(bytes).ok(),
        Some(bytes) => Some(Value::from(STANDARD.encode(bytes))),
        None => None,
    };
    let mut headers = BTreeMap::from([("Cache-Control".to_owned(), "no-cache".to_owned())]);
    if !answer.content_type.is_empty() {
        headers.insert("Content-Type".to_owned(), answer.content_type.to_owned());
    }
    for (name, value) in &answer.headers {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        headers.insert(spelt(name), value);
    }
    Told {
        id: part.id.clone(),
        cut: None,
        status: answer.status.as_u16(),
        headers,
        body,
    }
}

/// `Retry-After`, but `x-ms-resource-unit`: as Graph spells them.
fn spelt(name: &HeaderName) -> String {
    if name.as_str().starts_with("x-") {
        return name.to_string();
    }
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    let words: Vec<String> = name.as_str().split('-').map(capital).collect();
    words.join("-")
}

/// The envelope's headers, and over them the part's own.
fn headers(envelope: &HeaderMap, own: &BTreeMap<String, String>) -> HeaderMap {
    let mut headers = envelope.clone();
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        headers.remove(name);
    }
    for (name, value) in own {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    headers
}

fn request(version: &str, headers: HeaderMap, part: &Part) -> Option<Request<Bytes>> {
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .is_none_or(|value| value.as_bytes().starts_with(JSON.as_bytes()));
    let body = part.body.as_deref().map(|body| bytes(body, is_json));
    let mut request = Request::new(body.unwrap_or_default());
    *request.method_mut() = part.method.clone();
    *request.uri_mut() = format!("/{version}{}", part.url).parse().ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// A body that is no JSON comes as base64, of either alphabet, or as plain text.
fn bytes(body: &RawValue, is_json: bool) -> Bytes {
    let text: Option<String> = serde_json::from_str(body.get()).ok();
    match text {
        Some(text) if !is_json => {
            let decoded = [&STANDARD, &URL_SAFE, &URL_SAFE_NO_PAD].into_iter();
            let mut decoded = decoded.filter_map(|alphabet| alphabet.decode(&text).ok());
            decoded
                .next()
                .map_or_else(|| Bytes::from(text.clone()), Bytes::from)
        }
        _ => Bytes::from(body.get().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_spelt_as_sdks_look_for_them() {
        for (name, spelling) in [
            ("retry-after", "Retry-After"),
            ("location", "Location"),
            ("x-ms-resource-unit", "x-ms-resource-unit"),
        ] {
            assert_eq!(spelt(&HeaderName::from_static(name)), spelling);
        }
    }

    #[test]
    fn bodies_are_json_base64_or_text() {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        assert_eq!(bytes(&raw(r#"{"a":1.0}"#), true), r#"{"a":1.0}"#);
        assert_eq!(bytes(&raw(r#""PGI+""#), false), "<b>");
        assert_eq!(bytes(&raw(r#""PGI-""#), false), "<b>");
        assert_eq!(bytes(&raw(r#""<b>plain</b>""#), false), "<b>plain</b>");
    }
}
