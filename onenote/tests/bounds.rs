//! Hostile shapes: deep, wide and unclosed. Each is converted in about linear time, and without a deep stack.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod support;

use std::time::{Duration, Instant};

use support::{converted, sent};

/// Four times the input takes about four times as long; if it were quadratic, sixteen times.
const RATIO_MAX: f64 = 9.0;

/// The best of some runs, so that what else the machine does counts little.
fn time(html: &str) -> Duration {
    let runs = (0..3).map(|_| {
        let began = Instant::now();
        let converted = converted(html);
        assert!(converted.plan.blocks() < 1_000_000);
        began.elapsed()
    });
    runs.min().unwrap()
}

#[test]
fn a_hundred_thousand_levels_are_no_trouble() {
    for open in [
        "<div>",
        "<p>",
        "<b>",
        "<span style='color:red'>",
        "<ul><li>",
        "<table><tr><td>",
        "<blockquote>",
        "<a href='https://a.example/'>",
        "<math><msqrt>",
        "<b><p>",
        "<i x=1><u>",
        "<li>",
        "</div>",
        "<h1>",
        "<object>",
        "<pre>",
    ] {
        let html = |levels: usize| format!("{}end", open.repeat(levels));
        let text = sent(&converted(&html(100_000)).plan).text();
        assert!(text.contains("end"), "{open}");
        let (quarter, whole) = (time(&html(5_000)), time(&html(20_000)));
        let ratio = whole.as_secs_f64() / quarter.as_secs_f64().max(0.002);
        assert!(ratio < RATIO_MAX, "{open}: {quarter:?}, then {whole:?}");
    }
}

#[test]
fn a_page_that_is_nested_too_deep_says_so() {
    let kinds: Vec<_> = converted(&"<div>".repeat(1_000))
        .warnings
        .list
        .iter()
        .map(|it| it.kind)
        .collect();
    assert_eq!(kinds, [spillway_onenote::Kind::Nesting]);
    // Lists of sixty levels are no trouble.
    let html = format!("{}deep", "<ul><li>x".repeat(60));
    let converted = converted(&html);
    assert!(converted.warnings.list.is_empty());
    assert_eq!(converted.plan.blocks(), 60);
}

#[test]
fn warnings_are_bounded() {
    let warnings = converted(&"<img>".repeat(5_000)).warnings;
    assert_eq!((warnings.list.len(), warnings.more), (200, 4_800));
    let long = converted(&format!("<img src='x:{}'>", "y".repeat(1_000_000))).warnings;
    assert!(long.list.iter().all(|it| it.what.len() <= 120));
}
