//! What upstreams' answers mean: shapes seen in public reports, with the report each comes from.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

mod properties;

use spillway::Scope;
use spillway::signal::{
    Answer, BODY_BYTES_MAX, Named, Remaining, Signal, Verdict, WAIT_MS_MAX, read,
};

/// Fri, 25 Sep 2026 08:41:06 GMT and a quarter of a second.
const NOW_MS: u64 = 1_790_325_666_250;

const ONENOTE: &str = r#"{"error":{"code":"20166","message":"The app has issued too many requests on behalf of this user in a short time period.","innerError":{"date":"2023-09-25T08:41:06","request-id":"e4c11a53","client-request-id":"e4c11a53"}}}"#;
const GRAPH: &str = r#"{"error":{"code":"TooManyRequests","innerError":{"code":"429","date":"2020-08-18T12:51:51","message":"Please retry after","request-id":"94fb","status":"429"},"message":"Please retry again later."}}"#;
const NOTION_LIMITED: &str = r#"{"object":"error","status":429,"code":"rate_limited","message":"m","request_id":"r","additional_data":{"rate_limit_reason":"public_api_request_rate_limit"}}"#;
const NOTION_BLOCKED: &str = r#"{"object":"error","status":429,"code":"rate_limited","message":"m","request_id":"r","additional_data":{"rate_limit_reason":"public_api_request_blocked"}}"#;
const TOO_MANY_ITEMS: &str = r#"{"error":{"code":"10008","message":"One or more of the document libraries contains more than 5,000 OneNote items."}}"#;

fn signal(status: u16, headers: &[(&str, &str)], body: &str) -> Signal {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()))
        .collect();
    read(&Answer {
        status,
        headers: &headers,
        body: body.as_bytes(),
        unix_ms: NOW_MS,
    })
}

fn wait_ms(value: &str) -> Option<u64> {
    signal(429, &[("Retry-After", value)], "").retry_after_ms
}

/// Case 3 [obsidian-importer#225], cases 22 and 41 [obsidian-importer#334, smallrye#320],
/// and the statuses' own meaning.
#[test]
fn every_shape_of_answer_has_its_verdict() {
    use Verdict::{Final, Outage, Passed, Throttled};
    let html = "<html><body>Too many requests</body></html>";
    let root = r#"{"code":"20166","message":"m"}"#;
    let quoted = r#"{"error":{"code":"x","message":"see 20166"}}"#;
    let table: [(u16, &str, &str, Verdict); 27] = [
        // status, Retry-After if any, body
        (429, "", ONENOTE, Throttled),
        (429, "", root, Throttled),
        (429, "", "", Throttled),
        (429, "", html, Throttled),
        (429, "10", GRAPH, Throttled),
        (429, "1", NOTION_LIMITED, Throttled),
        (
            529,
            "",
            r#"{"object":"error","code":"service_overload"}"#,
            Throttled,
        ),
        (503, "7", "", Throttled),
        (503, "soon", "", Throttled),
        (503, "", ONENOTE, Throttled),
        (504, "", ONENOTE, Throttled),
        (400, "", root, Throttled),
        (403, "", r#"{"error":{"code":20166"#, Throttled),
        (502, "", html, Outage),
        (503, "", quoted, Outage),
        (
            504,
            "",
            r#"{"error":{"code":"UnknownError","message":""}}"#,
            Outage,
        ),
        (504, "7", "", Outage),
        (403, "", "", Final),
        (507, "", TOO_MANY_ITEMS, Final),
        (503, "", TOO_MANY_ITEMS, Final),
        (429, "5", NOTION_BLOCKED, Final),
        (200, "", ONENOTE, Passed),
        (302, "5", "", Passed),
        (400, "", quoted, Passed),
        (401, "", "", Passed),
        (404, "", r#"{"error":{"code":"20102"}}"#, Passed),
        (500, "", html, Passed),
    ];
    for (status, retry_after, body, verdict) in table {
        let header = [("Retry-After", retry_after)];
        let headers = if retry_after.is_empty() {
            &[]
        } else {
            &header[..]
        };
        assert_eq!(
            signal(status, headers, body).verdict,
            verdict,
            "{status} {body}"
        );
    }
}

/// Case 9 [graph-docs#3877, crawlee-python#1995, mastra#23779].
#[test]
fn waits_are_read_or_ignored_and_never_last_years() {
    let table = [
        ("10", Some(10_000)),
        (" 31\t", Some(31_000)),
        ("0.249", Some(249)),
        ("0.2491", Some(250)),
        ("1.5", Some(1_500)),
        ("86400", Some(WAIT_MS_MAX)),
        ("86401", Some(WAIT_MS_MAX)),
        (
            "9999999999999999999999999999999999999999",
            Some(WAIT_MS_MAX),
        ),
        ("5, 17", Some(17_000)),
        ("Fri, 25 Sep 2026 08:41:16 GMT", Some(9_750)),
        ("Friday, 25-Sep-26 08:41:16 GMT", Some(9_750)),
        ("Fri Sep 25 08:41:16 2026", Some(9_750)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(WAIT_MS_MAX)),
        ("", None),
        ("0", None),
        ("-5", None),
        ("Fri, 25 Sep 2026 08:41:06 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("soon", None),
        ("1e3", None),
        ("NaN", None),
        ("\u{0}\u{7f}", None),
    ];
    for (value, expected) in table {
        assert_eq!(wait_ms(value), expected, "{value}");
    }
}

#[test]
fn the_longest_of_several_waits_holds() {
    let wait_ms = |headers| signal(429, headers, "").retry_after_ms;
    assert_eq!(
        wait_ms(&[
            ("retry-after", "5"),
            ("RETRY-AFTER", "17"),
            ("Retry-After", "x")
        ]),
        Some(17_000)
    );
    assert_eq!(
        wait_ms(&[("Retry-After", "1"), ("x-ms-retry-after-ms", "1400")]),
        Some(1_400)
    );
    assert_eq!(
        wait_ms(&[("retry-after-ms", "249.5"), ("Retry-After", "0")]),
        Some(250)
    );
    assert_eq!(
        signal(503, &[("x-ms-retry-after-ms", "5")], "").verdict,
        Verdict::Throttled
    );
}

/// A 202 says when to poll, and what is final does not get better.
#[test]
fn waits_that_speak_of_other_things_are_left_out() {
    for (status, body) in [
        (202, ""),
        (301, ""),
        (404, ""),
        (403, ""),
        (429, NOTION_BLOCKED),
    ] {
        let signal = signal(status, &[("Retry-After", "30")], body);
        assert_eq!(signal.retry_after_ms, None, "{status}");
    }
    assert_eq!(
        signal(504, &[("Retry-After", "30")], "").retry_after_ms,
        Some(30_000)
    );
}

/// Case 12 [graph-docs#15823, #15227]: absent, then a 429; and 1.3 is 130 %.
#[test]
fn percentages_are_parts_of_one() {
    assert_eq!(signal(200, &[], "").percentage_permille, None);
    assert_eq!(signal(429, &[], ONENOTE).percentage_permille, None);
    let table = [
        ("0.8", Some(800)),
        ("0.7999", Some(799)),
        ("1", Some(1_000)),
        (" 1.1\t", Some(1_100)),
        ("1.3", Some(1_300)),
        ("1.8", Some(1_800)),
        ("130%", Some(1_300)),
        ("99.99 %", Some(999)),
        ("10", Some(10_000)),
        ("10.001", None),
        ("130", None),
        ("-1.3", None),
        ("99999999999999999999999999999999", None),
        ("", None),
        ("%", None),
        ("high", None),
    ];
    for (value, expected) in table {
        let headers = [("X-MS-Throttle-Limit-Percentage", value)];
        assert_eq!(
            signal(200, &headers, "").percentage_permille,
            expected,
            "{value}"
        );
    }
}

#[test]
fn scopes_name_budgets_and_unknown_words_the_widest() {
    const APP_ID: &str = "9a3d526c-0785-4b4c-8d0a-9a3d526c0785";
    let of = |user, tenant, app| Some(Named { user, tenant, app });
    let user = of(true, false, false);
    let tenant = of(false, true, false);
    let app = of(false, false, true);
    let user_and_app = of(true, false, true);
    let table = [
        ("User".to_owned(), user),
        ("Application".to_owned(), app),
        ("application".to_owned(), app),
        ("User, Application".to_owned(), user_and_app),
        ("Application,User".to_owned(), user_and_app),
        ("User Application".to_owned(), user_and_app),
        ("Tenant".to_owned(), tenant),
        ("Tenant/Write".to_owned(), tenant),
        (
            format!("Tenant_Application/ReadWrite/{APP_ID}/{APP_ID}"),
            tenant,
        ),
        (format!("tenant_application/read/{APP_ID}"), tenant),
        ("Tenant_Application/ReadWrite/17s".to_owned(), tenant),
        ("Tenant_Application_All".to_owned(), tenant),
        ("Tenant_User".to_owned(), user),
        ("User_Mailbox".to_owned(), app),
        (format!("Application/Write/{APP_ID}/{APP_ID}"), app),
        ("Partition_Application_Write".to_owned(), app),
        (format!("Mailbox/Read/{APP_ID}"), app),
        ("User, Mailbox".to_owned(), user_and_app),
        ("/Read/User".to_owned(), app),
        ("\u{0}".to_owned(), app),
        (String::new(), None),
        (" , ;".to_owned(), None),
    ];
    for (value, expected) in table {
        let headers = [("x-ms-throttle-scope", value.as_str())];
        assert_eq!(signal(429, &headers, "").named, expected, "{value}");
    }
    let headers = [
        ("x-ms-throttle-scope", "User"),
        ("X-Ms-Throttle-Scope", "Tenant"),
    ];
    assert_eq!(signal(429, &headers, "").named, of(true, true, false));
}

#[test]
fn named_budgets_can_be_asked_for_by_scope() {
    let named = signal(429, &[("x-ms-throttle-scope", "User,Tenant")], "").named;
    let named = named.expect("two budgets");
    let scopes = Scope::ALL.map(|scope| named.names(scope));
    assert_eq!(scopes, [true, true, false]);
}

/// Draft 03 as SharePoint sends it [learn answers 1120043], and the forms that came after.
#[test]
fn what_is_left_is_read_in_every_form() {
    let left = |remaining, limit, reset_ms| {
        Some(Remaining {
            remaining,
            limit,
            reset_ms,
        })
    };
    type Headers = &'static [(&'static str, &'static str)];
    let table: [(Headers, Option<Remaining>); 10] = [
        (
            &[
                ("RateLimit-Limit", "1200"),
                ("RateLimit-Remaining", "0"),
                ("RateLimit-Reset", "31"),
            ],
            left(0, Some(1_200), Some(31_000)),
        ),
        (&[("RateLimit-Remaining", "7")], left(7, None, None)),
        (
            &[
                ("RateLimit-Remaining", "7"),
                ("RateLimit-Limit", "100, 100;w=60"),
            ],
            left(7, Some(100), None),
        ),
        (
            &[("RateLimit", r#""policy";r=0;t=31"#)],
            left(0, None, Some(31_000)),
        ),
        (
            &[(
                "ratelimit",
                r#""burst";r=40;t=10, "day;r=1";r=9;t=999999999"#,
            )],
            left(9, None, Some(WAIT_MS_MAX)),
        ),
        (
            &[
                ("RateLimit", r#""a";r=5;t=10"#),
                ("RateLimit", r#""b"; r=5; t=20"#),
            ],
            left(5, None, Some(20_000)),
        ),
        (
            &[("RateLimit", "limit=100, remaining=50, reset=5")],
            left(50, Some(100), Some(5_000)),
        ),
        (
            &[
                ("RateLimit-Remaining", "-1"),
                ("RateLimit", r#""policy";q=5"#),
            ],
            None,
        ),
        (
            &[("RateLimit-Limit", "1200"), ("RateLimit-Reset", "31")],
            None,
        ),
        (
            &[("RateLimit-Remaining", "many"), ("RateLimit", ";;,=")],
            None,
        ),
    ];
    for (headers, expected) in table {
        assert_eq!(signal(200, headers, "").remaining, expected, "{headers:?}");
    }
}

#[test]
fn what_is_left_says_how_much_of_a_layer_is_used() {
    let left = |remaining| Remaining {
        remaining,
        limit: Some(1_250),
        reset_ms: None,
    };
    for (remaining, limit, used) in [
        (0, 1_200, 1_200),
        (240, 1_200, 960),
        (1_200, 1_200, 0),
        (5_000, 1_200, 0),
        (u64::MAX, 1_200, 0),
    ] {
        assert_eq!(left(remaining).used_of(limit), used, "{remaining}");
    }
}

#[test]
fn what_a_call_has_cost_is_read_or_ignored() {
    let table = [
        ("1", Some(1)),
        (" 5\t", Some(5)),
        ("2.1", Some(3)),
        ("1, 4", Some(4)),
        ("1000", Some(1_000)),
        ("1001", None),
        ("9999999999999999999999999999999999999999", None),
        ("0", None),
        ("-5", None),
        ("", None),
        ("few", None),
    ];
    for (value, expected) in table {
        let headers = [("X-MS-Resource-Unit", value)];
        for status in [200, 429] {
            assert_eq!(
                signal(status, &headers, "").charged_units,
                expected,
                "{value}"
            );
        }
    }
    assert_eq!(signal(200, &[], "").charged_units, None);
}

/// Case 14 [graph-docs-contrib#8883]: an envelope of 200 or 424, with throttled parts.
#[test]
fn parts_of_a_batch_are_answers_of_their_own() {
    let part = format!(r#"{{"responses":[{{"id":"1","status":429,"body":{ONENOTE}}}]}}"#);
    for envelope in [200, 424] {
        let envelope = signal(envelope, &[], &part);
        assert_eq!(envelope.verdict, Verdict::Passed);
        let headers = [("Retry-After", "7"), ("Content-Type", "application/json")];
        let inner = signal(429, &headers, ONENOTE);
        assert_eq!(inner.verdict, Verdict::Throttled);
        assert_eq!(inner.retry_after_ms, Some(7_000));
    }
    let failed_dependency = r#"{"error":{"code":"FailedDependency","message":"m"}}"#;
    assert_eq!(signal(424, &[], failed_dependency).verdict, Verdict::Passed);
}

/// Cases 11 and 26 [sdk-design#2, outline#12481]: answers in a row, each of its own kind.
#[test]
fn troubles_in_a_row_keep_their_kinds() {
    let verdicts = [502, 502, 429, 504, 200].map(|status| signal(status, &[], "").verdict);
    let (outage, throttled) = (Verdict::Outage, Verdict::Throttled);
    assert_eq!(
        verdicts,
        [outage, outage, throttled, outage, Verdict::Passed]
    );
}

/// All statuses without more: nothing but the five named ones is throttling or outage.
#[test]
fn statuses_alone_mean_what_the_rules_say() {
    let of =
        |verdict| (0..=u16::MAX).filter(move |status| signal(*status, &[], "").verdict == verdict);
    assert_eq!(of(Verdict::Throttled).collect::<Vec<_>>(), [429, 529]);
    assert_eq!(of(Verdict::Outage).collect::<Vec<_>>(), [502, 503, 504]);
    assert_eq!(of(Verdict::Final).collect::<Vec<_>>(), [403]);
}

/// A hostile body of the largest size costs one pass.
#[test]
fn the_largest_bodies_are_survived() {
    for unit in [
        "{",
        "[",
        "\"",
        "\\",
        "{\"error\":",
        "{\"code\":",
        "\"a\":",
        ",",
    ] {
        let body = format!("{{{}", unit.repeat(BODY_BYTES_MAX));
        assert_eq!(signal(500, &[], &body).verdict, Verdict::Passed, "{unit}");
    }
}
