//! A batch as it is sent, and what makes it malformed.

use std::collections::BTreeMap;

use axum::http::{Method, Request, header};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::graph::errors::GraphError;

/// The most parts of one batch.
const PARTS_MAX: usize = 20;

/// A batch that is well formed.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) parts: Vec<Part>,
}

/// One part.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) method: Method,
    /// Its path and query behind the version, beginning with a slash.
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<Box<RawValue>>,
    /// The places of the parts that it waits for.
    pub(super) depends_on: Vec<usize>,
}

#[derive(Deserialize)]
struct RawBatch {
    requests: Vec<RawPart>,
}

#[derive(Deserialize)]
struct RawPart {
    id: String,
    method: String,
    url: String,
    headers: Option<BTreeMap<String, String>>,
    body: Option<Box<RawValue>>,
    #[serde(rename = "dependsOn")]
    depends_on: Option<Vec<String>>,
}

impl Batch {
    /// Reads the body of a request.
    pub(super) fn read(request: &Request<Bytes>) -> Result<Self, GraphError> {
        if request.method() != Method::POST {
            return Err(GraphError::method(&[Method::POST]));
        }
        if !is_json(request) {
            return Err(GraphError::media_type("application/json"));
        }
        let raw: RawBatch =
            serde_json::from_slice(request.body()).map_err(|_| GraphError::batch_format())?;
        if raw.requests.is_empty() {
            return Err(GraphError::batch_format());
        }
        if raw.requests.len() > PARTS_MAX {
            return Err(GraphError::batch_too_long(PARTS_MAX));
        }
        let ids: Vec<String> = raw.requests.iter().map(|part| key(&part.id)).collect();
        if let Some(n) = (0..ids.len()).find(|n| ids[..*n].contains(&ids[*n])) {
            return Err(GraphError::batch_doubled_id(&raw.requests[n].id));
        }
        let parts = raw.requests.into_iter().map(|part| part.check(&ids));
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        if is_circular(&parts) {
            return Err(GraphError::batch_part("the requests depend on each other"));
        }
        Ok(Self { parts })
    }
}

impl RawPart {
    fn check(self, ids: &[String]) -> Result<Part, GraphError> {
        let wrong = |what: &str| GraphError::batch_part(&format!("Request {}: {what}", self.id));
        let method = Method::from_bytes(self.method.to_ascii_uppercase().as_bytes());
        let method = method.map_err(|_| wrong("the method is not valid"))?;
        if self.id.is_empty() {
            return Err(wrong("the id is empty"));
        }
        if !is_relative(&self.url) {
            return Err(wrong("the url must be relative"));
        }
        let place = |id: &String| ids.iter().position(|other| *other == key(id));
        let depends_on = self.depends_on.iter().flatten().map(place);
        let depends_on: Option<Vec<usize>> = depends_on.collect();
        let depends_on = depends_on.ok_or_else(|| wrong("dependsOn names no request"))?;
        Ok(Part {
            method,
            url: format!("/{}", self.url.trim_start_matches('/')),
            headers: self.headers.unwrap_or_default(),
            body: self.body,
            depends_on,
            id: self.id,
        })
    }
}

/// Ids differ in more than case.
fn key(id: &str) -> String {
    id.to_lowercase()
}

fn is_relative(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    !path.is_empty() && !path.starts_with("//") && !path.contains("://") && !path.contains('\\')
}

fn is_json(request: &Request<Bytes>) -> bool {
    let value = request.headers().get(header::CONTENT_TYPE);
    value
        .and_then(|value| value.to_str().ok())
        .is_some_and(|text| text.trim_start().starts_with("application/json"))
}

/// Whether some parts can never run: taking away all that can, in turn, leaves some.
fn is_circular(parts: &[Part]) -> bool {
    let mut done = vec![false; parts.len()];
    for _ in parts {
        for (n, part) in parts.iter().enumerate() {
            done[n] = done[n] || part.depends_on.iter().all(|other| done[*other]);
        }
    }
    done.contains(&false)
}
