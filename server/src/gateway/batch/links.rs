//! Links in the parts of a batch and in their answers ([`super::super::links`]): in headers, in
//! JSON, and in HTML, which is base64 within a batch.

use base64::{
    Engine,
    engine::general_purpose::{
        GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD,
    },
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use super::{
    super::links::{Answers, Document, Format, Links, rewrite},
    answer::Answer,
    round::Whole,
};

/// The alphabets that senders use, the strict ones first.
const ALPHABETS: [GeneralPurpose; 4] = [STANDARD, URL_SAFE, STANDARD_NO_PAD, URL_SAFE_NO_PAD];

/// Rewrites the links of one part's answer.
pub(super) fn answer(answer: &mut Answer, links: &Links) {
    let Ok(status) = StatusCode::from_u16(answer.status) else {
        return;
    };
    let before = head(&answer.headers);
    let mut after = before.clone();
    let document = Answers::to(&HeaderMap::new(), links).begin(status, &mut after);
    answer.headers.retain_mut(|(name, value)| {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
            return true;
        };
        match (before.get(&name), after.get(&name)) {
            (Some(_), None) => return false,
            (Some(before), Some(after)) if before != after => {
                *value = String::from_utf8_lossy(after.as_bytes()).into_owned();
            }
            _ => {}
        }
        true
    });
    if let Some(document) = document
        && let Some(body) = body(&answer.body, document)
    {
        answer.body = body;
    }
}

/// The same of an answer to a whole batch that is none to its parts.
pub(super) fn whole(whole: &mut Whole, links: &Links) {
    let answers = Answers::to(&HeaderMap::new(), links);
    let mut headers = whole.headers.clone();
    match answers.begin(whole.status, &mut headers) {
        None => whole.headers = headers,
        Some(mut document) => {
            // A body that is not coded as it says is passed on as it came.
            if let Some(body) = through(&mut document, whole.body.clone()) {
                whole.headers = headers;
                whole.body = body.into();
            }
        }
    }
}

/// Rewrites the links of a batch's JSON: those in the bodies of its parts.
pub(super) fn request(message: Bytes, links: &Links) -> Bytes {
    rewrite(Format::Json, &message, links.to_upstream()).into()
}

/// The same for a part's body that is HTML, in base64. `None`: it stays as it is.
pub(super) fn html(body: &[u8], links: &Links) -> Option<Vec<u8>> {
    within_base64(body, |html| {
        Some(rewrite(Format::Html, html, links.to_upstream()))
    })
}

fn head(headers: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            map.append(name, value);
        }
    }
    map
}

/// A body put through `document`; what is a string is the base64 of it.
fn body(json: &Bytes, mut document: Document) -> Option<Bytes> {
    if json.starts_with(b"\"") {
        return within_base64(json, |bytes| {
            through(&mut document, Bytes::copy_from_slice(bytes))
        })
        .map(Bytes::from);
    }
    through(&mut document, json.clone()).map(Bytes::from)
}

fn through(document: &mut Document, mut input: Bytes) -> Option<Vec<u8>> {
    let mut all = Vec::with_capacity(input.len());
    while let Some(piece) = document.next(&mut input).ok()? {
        all.extend_from_slice(&piece);
    }
    while let Some(piece) = document.finish().ok()? {
        all.extend_from_slice(&piece);
    }
    Some(all)
}

/// A JSON string of base64 whose content is changed; in the alphabet that it was written in.
fn within_base64(json: &[u8], change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let text: String = serde_json::from_slice(json).ok()?;
    let mut alphabets = ALPHABETS.iter();
    let (alphabet, content) =
        alphabets.find_map(|alphabet| Some((alphabet, alphabet.decode(&text).ok()?)))?;
    let changed = change(&content)?;
    (changed != content).then(|| {
        Value::from(alphabet.encode(changed))
            .to_string()
            .into_bytes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        let base = "https://up.example".parse().unwrap();
        Links::new(&base, &"http://gate.example".parse().unwrap(), "up")
    }

    fn rewritten(response: &str) -> String {
        let message = Bytes::from(format!(r#"{{"responses":[{response}]}}"#));
        let (_, mut one) = super::super::answer::read(&message).unwrap().remove(0);
        answer(&mut one, &links());
        String::from_utf8(one.write(b"\"1\"")).unwrap()
    }

    fn base64_of(html: &str) -> String {
        format!("\"{}\"", STANDARD.encode(html))
    }

    #[test]
    fn links_of_json_and_headers_come_back_pointing_here_and_the_rest_stays() {
        let part = |url: &str| {
            format!(
                r#"{{"id":"1","status":201,"headers":{{"Content-Type":"application/json","Location":"{url}/x"}},"body":{{"n":1.0e3,"@odata.nextLink":"{url}/y?$skip=1","webUrl":"https://up.example/z"}}}}"#
            )
        };
        assert_eq!(
            rewritten(&part("https://up.example")),
            part("http://gate.example/up")
        );
        let other = part("https://other.example");
        assert_eq!(rewritten(&other), other);
    }

    #[test]
    fn links_of_html_come_back_within_its_base64() {
        let part = |url: &str, length: &str| {
            let body = base64_of(&format!("<html><img src=\"{url}/i\"/></html>"));
            format!(
                r#"{{"id":"1","status":200,"headers":{{"Content-Type":"text/html"{length}}},"body":{body}}}"#
            )
        };
        let sent = part("https://up.example", r#","Content-Length":"44""#);
        assert_eq!(rewritten(&sent), part("http://gate.example/up", ""));
    }

    #[test]
    fn what_is_no_text_or_not_whole_stays() {
        for part in [
            r#"{"id":"1","status":200,"headers":{"Content-Type":"image/png"},"body":"iVBORw0KGgo="}"#,
            r#"{"id":"1","status":200,"headers":{"Content-Type":"text/html"},"body":"no base64!"}"#,
            r#"{"id":"1","status":206,"headers":{"Content-Type":"application/json"},"body":{"self":"https://up.example/x"}}"#,
            r#"{"id":"1","status":204,"headers":{}}"#,
        ] {
            assert_eq!(rewritten(part), part);
        }
    }

    #[test]
    fn what_a_client_kept_goes_up_as_the_upstream_s() {
        let sent = r#"{"requests":[{"id":"1","method":"POST","url":"/x","body":{"user@odata.bind":"http://gate.example/up/users/1","n":1.0e3}}]}"#;
        let expected = sent.replace("http://gate.example/up", "https://up.example");
        assert_eq!(request(sent.into(), &links()), expected);
        let page = base64_of("<img src=\"http://gate.example/up/i\">");
        let expected = base64_of("<img src=\"https://up.example/i\">");
        assert_eq!(html(page.as_bytes(), &links()), Some(expected.into_bytes()));
        assert_eq!(html(base64_of("<p>x</p>").as_bytes(), &links()), None);
        assert_eq!(html(b"\"<p>plain</p>\"", &links()), None);
    }
}
