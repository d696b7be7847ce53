use http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(json: &str) -> Result<Batch, Malformed> {
    let bearer = HeaderValue::from_static("Bearer ann");
    let envelope = Envelope {
        root: "/v1.0/",
        own_root: "/graph/v1.0/",
        authorization: Some(&bearer),
        links: None,
    };
    Batch::read(&Bytes::from(json.to_owned()), &envelope)
}

fn one(members: &str) -> Result<Batch, Malformed> {
    read(&format!(r#"{{"requests":[{{"id":"1",{members}}}]}}"#))
}

fn url(url: &str) -> Result<Batch, Malformed> {
    read(&json!({"requests": [{"id": "1", "method": "GET", "url": url}]}).to_string())
}

fn written(batch: &Batch, round: &[(usize, Vec<usize>)]) -> String {
    String::from_utf8(batch.write(round).to_vec()).unwrap()
}

#[test]
fn a_part_is_sent_as_it_was_written() {
    let part = r#"{"id":"1","url":"/me/onenote/pages?$filter=a eq 'b'","method":"POST","headers":{"content-TYPE":"text/html","Prefer":"a=1"},"body":{"n":1.0e3,"s":"\u00e9\/","z":[ 1,2 ]},"x":null}"#;
    let batch = read(&format!(r#"{{"requests":[{part}],"@odata.x":[ 1]}}"#)).unwrap();
    let expected = format!(r#"{{"requests":[{part}],"@odata.x":[ 1]}}"#);
    assert_eq!(written(&batch, &[(0, vec![])]), expected);
    let part = &batch.parts[0];
    assert_eq!(
        (&part.method, part.path.as_str(), part.query.as_str()),
        (&Method::POST, "/v1.0/me/onenote/pages", "$filter=a eq 'b'")
    );
}

#[test]
fn only_what_still_goes_along_is_depended_on() {
    let json = r#"{"requests":[{"id":"a","method":"GET","url":"/x","dependsOn":["B","c"]},{"id":"b","method":"GET","url":"/y"},{"id":"C","method":"GET","url":"/z","dependsOn":null}]}"#;
    let batch = read(json).unwrap();
    assert_eq!(batch.parts[0].depends_on, [1, 2]);
    assert_eq!(batch.order, [1, 2, 0]);
    let sent: Value = serde_json::from_str(&written(&batch, &[(0, vec![2]), (2, vec![])])).unwrap();
    assert_eq!(sent["requests"][0]["dependsOn"], json!(["C"]));
    assert_eq!(sent["requests"][1].get("dependsOn"), None);
}

#[test]
fn what_is_the_connection_s_or_a_session_s_is_left_out() {
    let batch = one(
        r#""method":"GET","url":"/me","headers":{"Host":"evil","Connection":"x","Transfer-Encoding":"chunked","Cookie":"a=b","Authorization":"Bearer ann","If-Match":"*"}"#,
    )
    .unwrap();
    let sent: Value = serde_json::from_str(&written(&batch, &[(0, vec![])])).unwrap();
    let headers = json!({"Authorization": "Bearer ann", "If-Match": "*"});
    assert_eq!(sent["requests"][0]["headers"], headers);
}

#[test]
fn addresses_are_charged_as_what_they_are_served_as() {
    for (address, path) in [
        ("/me/onenote/pages", "/v1.0/me/onenote/pages"),
        ("me/onenote/pages", "/v1.0/me/onenote/pages"),
        ("/me/one%6eote/pages", "/v1.0/me/onenote/pages"),
        // A version of its own, and the gateway's own form, which loses its root.
        ("/v1.0/me/onenote/pages", "/v1.0/me/onenote/pages"),
        ("/beta/me/onenote/pages", "/beta/me/onenote/pages"),
        ("/graph/v1.0/me/onenote/pages", "/v1.0/me/onenote/pages"),
        (
            "/me/drive/root:/a%20b:/content",
            "/v1.0/me/drive/root:/a b:/content",
        ),
    ] {
        assert_eq!(url(address).unwrap().parts[0].path, path, "{address}");
    }
    let own = url("/graph/v1.0/me?$top=1").unwrap();
    assert!(written(&own, &[(0, vec![])]).contains(r#""url":"/me?$top=1""#));
}

#[test]
fn addresses_that_lead_elsewhere_are_refused() {
    for address in [
        "",
        "https://graph.microsoft.com/v1.0/me",
        "http:me",
        "//evil.example/me",
        "/%2fevil.example/me",
        "/@evil.example",
        "@evil.example",
        "/me/../users/bob",
        "/me/%2e%2e/users/bob",
        "/me/./x",
        "\\\\evil.example\\me",
        "/me\\onenote",
        "/me\r\nHost: evil",
        "/me%zz",
        "/me#fragment",
        "/$batch",
        "$BATCH/",
        "/%24batch",
    ] {
        let refused = url(address).unwrap_err();
        assert_eq!(refused.code(), "BadRequest", "{address}");
    }
}

#[test]
fn malformed_batches_are_told_apart() {
    let many: Vec<Value> = (0..21)
        .map(|n| json!({"id": n.to_string(), "method": "GET", "url": "/me"}))
        .collect();
    let refusal = |json: &str| read(json).unwrap_err().to_string();
    assert!(refusal(&json!({"requests": many}).to_string()).contains("maximum value of 20"));
    for json in [
        "",
        "[]",
        "{}",
        r#"{"requests":[]}"#,
        r#"{"requests":{}}"#,
        r#"{"requests":[],"REQUESTS":[]}"#,
        "{\"requests\":[\"\u{0}\"]",
    ] {
        assert_eq!(refusal(json), "Invalid batch payload format.", "{json}");
    }
    let part = |id: &str, on: &str| {
        format!(r#"{{"id":"{id}","method":"GET","url":"/me","dependsOn":[{on}]}}"#)
    };
    let two = |a: String, b: String| format!(r#"{{"requests":[{a},{b}]}}"#);
    assert_eq!(
        refusal(&two(part("Straße", ""), part("STRAßE", ""))),
        "Request Id STRAßE has to be unique in a batch."
    );
    assert!(refusal(&two(part("1", "\"3\""), part("2", ""))).contains("dependsOn names 3"));
    assert!(refusal(&two(part("1", "\"2\""), part("2", "\"1\""))).contains("cycle"));
    assert!(refusal(&two(part("1", "\"1\""), part("2", ""))).contains("cycle"));
}

#[test]
fn parts_that_could_be_read_in_two_ways_are_refused() {
    for members in [
        r#""method":"GET","url":"/me","URL":"/me/onenote/pages""#,
        r#""method":"GET","Url":"/me""#,
        r#""method":"GET","url":"/me","url":"/me""#,
        r#""method":"TRACE","url":"/me""#,
        r#""method":1,"url":"/me""#,
        r#""url":"/me""#,
        r#""method":"GET""#,
        r#""method":"GET","url":"/me","dependsOn":"2""#,
        r#""method":"GET","url":"/me","atomicityGroup":"g""#,
        r#""method":"GET","url":"/me","headers":[]"#,
        r#""method":"GET","url":"/me","headers":{"a":1}"#,
        r#""method":"GET","url":"/me","headers":{"a":"x\r\ny: z"}"#,
        r#""method":"GET","url":"/me","headers":{"If-Match":"1","if-match":"2"}"#,
        r#""method":"GET","url":"/me","headers":{"Spillway-User":"bob"}"#,
        r#""method":"GET","url":"/me","headers":{"SPILLWAY-WEIGHT":"1"}"#,
        r#""method":"GET","url":"/me","headers":{"Authorization":"Bearer bob"}"#,
    ] {
        assert!(one(members).is_err(), "{members}");
    }
    assert!(read(r#"{"requests":[{"id":1,"method":"GET","url":"/me"}]}"#).is_err());
    assert!(read(r#"{"requests":[{"id":"","method":"GET","url":"/me"}]}"#).is_err());
    assert!(one(r#""method":"get","url":"/me""#).is_ok());
}

proptest! {
    /// Whatever comes: a batch or a refusal, no panic; and what is sent is read alike.
    #[test]
    fn any_text_is_survived(text in r#"\{"requests":\[(\{"id":"[ab1]","method":"(GET|POST)","url":"/?[a-z/.:$%@]{0,8}"(,"dependsOn":\["[ab1]?"\])?\},?){0,4}\]?\}?"#) {
        if let Ok(batch) = read(&text) {
            let all: Vec<_> = (0..batch.parts.len()).map(|n| (n, batch.parts[n].depends_on.clone())).collect();
            let again = read(&written(&batch, &all)).unwrap();
            prop_assert_eq!(again.order, batch.order);
            for (a, b) in again.parts.iter().zip(&batch.parts) {
                prop_assert_eq!((&a.key, &a.path, &a.depends_on), (&b.key, &b.path, &b.depends_on));
            }
        }
    }
}
