//! The answers to a batch's parts: read from an upstream's answer, or made here.

use bytes::Bytes;
use http::HeaderName;
use serde_json::{Value, value::RawValue};
use spillway::signal::{self, Signal};

use super::{
    super::response_headers,
    message::{Members, push_member, slice_of},
    part::key_of,
};

/// One part's answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Its headers, names and values as they were written.
    pub(super) headers: Vec<(String, String)>,
    /// Its body as JSON, as it was written; empty where there is none.
    pub(super) body: Bytes,
    /// What else there was.
    others: Vec<(String, Bytes)>,
}

impl Answer {
    /// The gateway's own.
    pub(super) fn own(status: u16, media_type: &str, body: &Value) -> Self {
        let headers = [("Content-Type", media_type), ("Cache-Control", "no-store")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            status,
            headers: headers.into(),
            body: body.to_string().into(),
            others: Vec::new(),
        }
    }

    /// Reads one of a list; `None` where it has no id or no status.
    fn read(message: &Bytes, raw: &RawValue) -> Option<(String, Self)> {
        let members = Members::read(raw.get().as_bytes()).ok()?;
        let id: String = members.get_as("id")?;
        let status: u16 = members
            .get_as("status")
            .filter(|status| (100..1000).contains(status))?;
        let own = ["id", "status", "headers", "body"];
        let others = members
            .0
            .iter()
            .filter(|(name, _)| !own.contains(&name.as_str()));
        let answer = Self {
            status,
            headers: members.get("headers").map(headers).unwrap_or_default(),
            body: members
                .get("body")
                .map(|raw| slice_of(message, raw))
                .unwrap_or_default(),
            others: others
                .map(|(name, raw)| (name.clone(), slice_of(message, raw)))
                .collect(),
        };
        Some((key_of(&id), answer))
    }

    /// What it says of its workload's limits.
    pub(super) fn signal(&self, unix_ms: u64) -> Signal {
        let headers = self.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        signal::read(&signal::Answer {
            status: self.status,
            headers: &headers,
            body: &self.body,
            unix_ms,
        })
    }

    /// Replaces a header, or adds it.
    pub(super) fn set_header(&mut self, name: &str, value: String) {
        self.headers
            .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value));
    }

    /// As an element of `responses`, under the id that its client gave.
    pub(super) fn write(&self, id_json: &[u8]) -> Vec<u8> {
        let mut json = b"{".to_vec();
        push_member(&mut json, "id", id_json);
        push_member(&mut json, "status", self.status.to_string().as_bytes());
        let mut headers = b"{".to_vec();
        for (name, value) in &self.headers {
            push_member(
                &mut headers,
                name,
                Value::from(value.as_str()).to_string().as_bytes(),
            );
        }
        headers.push(b'}');
        push_member(&mut json, "headers", &headers);
        if !self.body.is_empty() {
            push_member(&mut json, "body", &self.body);
        }
        for (name, value) in &self.others {
            push_member(&mut json, name, value);
        }
        json.push(b'}');
        json
    }
}

/// The answers in a body, each with its part's key; `None`: the body is no batch's answer.
pub(super) fn read(message: &Bytes) -> Option<Vec<(String, Answer)>> {
    let members = Members::read(message).ok()?;
    let responses: Vec<&RawValue> = members.get_as("responses")?;
    let read = responses
        .iter()
        .filter_map(|raw| Answer::read(message, raw));
    Some(read.collect())
}

/// The headers that a caller may get; values that are no strings as their JSON.
fn headers(raw: &RawValue) -> Vec<(String, String)> {
    let Ok(headers) = Members::read(raw.get().as_bytes()) else {
        return Vec::new();
    };
    let headers = headers.0.into_iter().filter(|(name, _)| {
        let known = HeaderName::from_bytes(name.as_bytes());
        known.is_ok_and(|name| response_headers::passes(&name))
    });
    let text =
        |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned());
    headers.map(|(name, value)| (name, text(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_comes_back_as_it_was_under_the_client_s_id() {
        let message = Bytes::from_static(
            br#"{"responses":[{"id":"A","status":200,"headers":{"Content-Type":"application/json","ETag":"W/\"1\"","Set-Cookie":"a=b"},"body":{"n":1.0e3,"z":"\u00e9","a":[1, 2]},"extra":null},{"id":"b","status":204}]}"#,
        );
        let answers = read(&message).unwrap();
        let keys: Vec<_> = answers
            .iter()
            .map(|(key, answer)| (key.as_str(), answer.status))
            .collect();
        assert_eq!(keys, [("a", 200), ("b", 204)]);
        assert_eq!(
            String::from_utf8(answers[0].1.write(b"\"a\"")).unwrap(),
            r#"{"id":"a","status":200,"headers":{"Content-Type":"application/json","ETag":"W/\"1\""},"body":{"n":1.0e3,"z":"\u00e9","a":[1, 2]},"extra":null}"#
        );
        assert_eq!(
            answers[1].1.write(b"\"b\""),
            br#"{"id":"b","status":204,"headers":{}}"#
        );
    }

    #[test]
    fn a_body_that_is_no_batch_s_answer_is_none_and_broken_elements_are_left_out() {
        for body in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"responses":{}}"#,
            r#"{"error":{}}"#,
        ] {
            assert!(read(&Bytes::from(body.to_owned())).is_none(), "{body}");
        }
        let body = r#"{"responses":[1,{"id":"x"},{"status":200},{"id":"y","status":"200"},{"id":"z","status":20},{"id":"ok","status":429}]}"#;
        let answers = read(&Bytes::from(body.to_owned())).unwrap();
        assert_eq!((answers.len(), answers[0].1.status), (1, 429));
    }

    #[test]
    fn a_part_s_headers_and_body_speak_of_its_limits() {
        let body = r#"{"responses":[{"id":"1","status":429,"headers":{"retry-after":"0.249"}},{"id":"2","status":400,"body":{"error":{"code":"20166"}}},{"id":"3","status":200,"headers":{"x-ms-resource-unit":3}}]}"#;
        let answers = read(&Bytes::from(body.to_owned())).unwrap();
        let signals: Vec<_> = answers.iter().map(|(_, answer)| answer.signal(0)).collect();
        assert_eq!(signals[0].retry_after_ms, Some(249));
        assert_eq!(signals[1].verdict, spillway::Verdict::Throttled);
        assert_eq!(signals[2].charged_units, Some(3));
    }
}
