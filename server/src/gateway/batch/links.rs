//! Links in the parts of a batch and in their answers ([`super::super::links`]): in headers, in
//! JSON, and in HTML, which is a string within a batch: base64 as Graph writes it, or the text
//! itself.

use base64::{
    Engine,
    engine::general_purpose::{
        GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD,
    },
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use serde_json::Value;

use super::{
    super::links::{Answers, Document, Format, Links, rewrite},
    answer::Answer,
    hearing::Whole,
};

/// The alphabets that senders use, the strict ones first.
const ALPHABETS: [GeneralPurpose; 4] = [STANDARD, URL_SAFE, STANDARD_NO_PAD, URL_SAFE_NO_PAD];

/// Headers that do not hold for a body that has changed, in lower case.
const OF_THE_BYTES: [&str; 6] = [
    "content-length",
    "accept-ranges",
    "digest",
    "content-digest",
    "repr-digest",
    "content-md5",
];

/// Rewrites the links of one part's answer.
pub(super) fn answer(answer: &mut Answer, links: &Links) {
    let Ok(status) = StatusCode::from_u16(answer.status) else {
        return;
    };
    let before = head(&answer.headers);
    let mut after = before.clone();
    let is_json = matches!(answer.body.first(), Some(b'{' | b'['));
    if is_json {
        // Whatever its part says of it, or does not.
        after.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        after.remove(CONTENT_ENCODING);
    }
    let format = Format::of(&after);
    let is_coded = after.contains_key(CONTENT_ENCODING);
    let document = Answers::to(&HeaderMap::new(), links).begin(status, &mut after);
    let body = document.filter(|_| !is_coded);
    let body = body.and_then(|document| body_through(&answer.body, format?, document));
    answer.headers.retain_mut(|(name, value)| {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
            return true;
        };
        if OF_THE_BYTES.contains(&name.as_str()) {
            return body.is_none();
        }
        if let Some(link) = after.get(&name).filter(|_| name != CONTENT_TYPE)
            && before.get(&name) != Some(link)
        {
            *value = String::from_utf8_lossy(link.as_bytes()).into_owned();
        }
        true
    });
    if let Some(body) = body {
        answer.body = body.into();
    }
}

/// The same of an answer to a whole batch that is none to its parts. One whose coding could
/// not be undone is passed on as it came, but for its headers.
pub(super) fn whole(whole: &mut Whole, links: &Links) {
    let mut headers = whole.headers.clone();
    // What has no type is not looked into.
    let is_coded = headers.contains_key(CONTENT_ENCODING);
    let coded = is_coded.then(|| headers.remove(CONTENT_TYPE)).flatten();
    let document = Answers::to(&HeaderMap::new(), links).begin(whole.status, &mut headers);
    if let Some(body) = document.and_then(|document| through(document, whole.body.clone())) {
        whole.body = body.into();
    }
    headers.extend(coded.map(|media_type| (CONTENT_TYPE, media_type)));
    whole.headers = headers;
}

/// Rewrites the links of a batch's JSON: those in the bodies of its parts.
pub(super) fn request(message: Bytes, links: &Links) -> Bytes {
    rewrite(Format::Json, &message, links.to_upstream()).into()
}

/// The same for a part's body that is HTML. `None`: it stays as it is.
pub(super) fn html(body: &[u8], links: &Links) -> Option<Vec<u8>> {
    within_string(body, Format::Html, |html| {
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

/// A body put through `document`. `None`: it stays as it is.
fn body_through(json: &Bytes, format: Format, document: Document) -> Option<Vec<u8>> {
    if json.starts_with(b"\"") {
        return within_string(json, format, |bytes| {
            through(document, Bytes::copy_from_slice(bytes))
        });
    }
    through(document, json.clone()).filter(|body| body != json)
}

fn through(mut document: Document, mut input: Bytes) -> Option<Vec<u8>> {
    let mut all = Vec::with_capacity(input.len());
    while let Some(piece) = document.next(&mut input).ok()? {
        all.extend_from_slice(&piece);
    }
    while let Some(piece) = document.finish().ok()? {
        all.extend_from_slice(&piece);
    }
    Some(all)
}

/// A JSON string whose content is changed: base64, in the alphabet that it was written in; else
/// HTML itself, which is never base64, since that has no angle brackets.
fn within_string(
    json: &[u8],
    format: Format,
    change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let text: String = serde_json::from_slice(json).ok()?;
    let mut alphabets = ALPHABETS.iter();
    let base64 = alphabets.find_map(|alphabet| Some((alphabet, alphabet.decode(&text).ok()?)));
    let text = match base64 {
        Some((alphabet, content)) => {
            let changed = change(&content)?;
            (changed != content).then(|| alphabet.encode(changed))?
        }
        None if format == Format::Html => {
            let changed = change(text.as_bytes())?;
            (changed != text.as_bytes()).then(|| String::from_utf8(changed).ok())??
        }
        None => return None,
    };
    Some(Value::from(text).to_string().into_bytes())
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
        let foreign = part("https://other.example", r#","Content-Length":"47""#);
        assert_eq!(rewritten(&foreign), foreign, "a length that holds stays");
    }

    #[test]
    fn links_of_html_come_back_within_its_text() {
        let part = |url: &str| {
            let body = serde_json::json!(format!("<p>\"é\"</p>\n<img src=\"{url}/i\"/>"));
            format!(
                r#"{{"id":"1","status":200,"headers":{{"content-type":"text/html; charset=utf-8"}},"body":{body}}}"#
            )
        };
        let sent = part("https://up.example");
        assert_eq!(rewritten(&sent), part("http://gate.example/up"));
    }

    #[test]
    fn an_object_or_a_list_is_json_whatever_its_part_says() {
        for headers in [
            "{}",
            r#"{"Content-Type":"text/plain"}"#,
            r#"{"Content-Encoding":"gzip"}"#,
            r#"{"content-type":"application/json;charset=utf-16"}"#,
        ] {
            for body in [r#"{"self":"BASE/x"}"#, r#"[{"nextLink":"BASE/x"}]"#] {
                let part = |url: &str| {
                    let body = body.replace("BASE", url);
                    format!(r#"{{"id":"1","status":200,"headers":{headers},"body":{body}}}"#)
                };
                let sent = part("https://up.example");
                assert_eq!(rewritten(&sent), part("http://gate.example/up"));
            }
        }
    }

    #[test]
    fn what_is_no_text_or_not_whole_stays() {
        for part in [
            r#"{"id":"1","status":200,"headers":{"Content-Type":"image/png"},"body":"iVBORw0KGgo="}"#,
            r#"{"id":"1","status":200,"headers":{"Content-Type":"text/html"},"body":"no base64!"}"#,
            r#"{"id":"1","status":200,"headers":{"Content-Type":"text/html","Content-Encoding":"gzip"},"body":"H4sIAAAA"}"#,
            r#"{"id":"1","status":200,"headers":{},"body":"<img src=\"https://up.example/x\">"}"#,
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
        let page =
            |url: &str| serde_json::json!(format!("<p>ü</p><img src='{url}/i'>")).to_string();
        let up = html(page("http://gate.example/up").as_bytes(), &links());
        assert_eq!(up, Some(page("https://up.example").into_bytes()));
    }
}
