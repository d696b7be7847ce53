//! No page, whatever its HTML, ends the process, makes a request that Notion would refuse, or comes out otherwise the
//! second time.

#![no_main]

use libfuzzer_sys::fuzz_target;
use spillway_onenote::{
    Upstream, convert,
    notion::Body,
    plan::{Outcome, Under},
    rules,
};

fuzz_target!(|html: &[u8]| {
    let html = String::from_utf8_lossy(html);
    let upstream = Upstream::new("https://graph.microsoft.com/").expect("it is one");
    let mut plan = convert(&html, &upstream, &()).plan;
    assert_eq!(plan, convert(&html, &upstream, &()).plan);
    let places: Vec<_> = (0..plan.requests.len()).flat_map(|n| plan.files(n)).collect();
    for place in places {
        let outcome = if place % 2 == 0 { Outcome::Uploaded("an id") } else { Outcome::Missing("it is not there") };
        plan.put_file(place, outcome);
    }
    for (number, request) in plan.requests.iter().enumerate() {
        let body = plan.body(number, "a page").expect("there is one");
        let body = serde_json::to_value(body).expect("its files are there");
        let violations = match request.under {
            Under::NewPage => rules::new_page(&body),
            Under::Page => rules::append(&body, false),
            Under::Block { request, index } => {
                assert!(request < number);
                let under = &plan.requests[request].children[index];
                rules::append(&body, matches!(under.body, Body::Table { .. }))
            }
        };
        assert!(violations.is_empty(), "{}", violations[0]);
    }
    for site in plan.sites() {
        let body = site.update(&|_: &_| Some("a-page".to_owned())).expect("all are known");
        assert!(rules::update(&body).is_empty());
    }
});
