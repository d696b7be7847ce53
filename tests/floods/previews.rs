//! A preview says what would have happened: the guard, fed with the same minutes, does that.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spillway::Instant;
use spillway::flood::{
    Component, Day, Decision, Event, Guard, ListKey, Minute, Policy, Settings, Trigger, preview,
};

const DAY: u64 = 86_400_000;

#[derive(Default, Debug, PartialEq, Eq)]
struct Happened {
    strikes: u32,
    events: u64,
    disabled: Option<Instant>,
}

/// What the guard does when the minutes' events come one by one.
fn happen(minutes: &[Minute], policy: Policy) -> BTreeMap<ListKey, Happened> {
    let settings = Settings {
        lists_max: 10,
        seed: 5,
    };
    let mut guard = Guard::new(settings, [policy; 4]);
    let mut happened: BTreeMap<ListKey, Happened> = BTreeMap::new();
    for minute in minutes {
        let list = happened.entry(minute.key.clone()).or_default();
        let ends = Instant((minute.starts.0 / DAY + 1) * DAY);
        for _ in 0..minute.count {
            let event = Event {
                site: &minute.key.site,
                list: &minute.key.list,
                component: Component::Alert,
                trigger: Trigger::Event,
                at: minute.starts,
                day: Day {
                    number: minute.day,
                    ends,
                },
            };
            let answer = guard.ask(minute.starts, &event).expect("there is room");
            list.events += u64::from(answer.decision != Decision::Handle);
            list.strikes += u32::from(answer.strike.is_some());
            if answer.strike.is_some_and(|strike| strike.disables) {
                list.disabled = Some(minute.starts);
            }
        }
    }
    happened.retain(|_, list| list.strikes > 0);
    happened
}

fn recorded() -> impl Strategy<Value = Vec<Minute>> {
    let list = (0_u8..3).prop_map(|n| ListKey::new("site", n.to_string()));
    let minute = (list, 0_u64..400, 1_u32..9).prop_map(|(key, n, count)| {
        let starts = 20_787 * DAY + n * 600_000;
        Minute {
            key,
            starts: Instant(starts),
            day: (starts / DAY) as i32,
            count,
        }
    });
    proptest::collection::vec(minute, 0..80).prop_map(|mut minutes| {
        minutes.sort_by(|a, b| (a.starts, &a.key).cmp(&(b.starts, &b.key)));
        minutes.dedup_by(|a, b| (a.starts, &a.key) == (b.starts, &b.key));
        minutes
    })
}

proptest! {
    #[test]
    fn a_preview_comes_true(
        minutes in recorded(),
        per_minute in 1_u32..8,
        strikes in 1_u32..5,
        grace in 0_u32..3,
    ) {
        let policy = Policy::new(per_minute, strikes, grace.min(strikes)).expect("legal");
        let told = preview(minutes.clone(), policy);
        let told = told.stopped.into_iter().map(|list| {
            let happened = Happened { strikes: list.strikes, events: list.events, disabled: list.disabled };
            (list.key, happened)
        });
        prop_assert_eq!(told.collect::<BTreeMap<_, _>>(), happen(&minutes, policy));
    }
}

#[test]
fn peaks_are_quantiles_over_lists() {
    let minutes = (1..=1_000).flat_map(|n| {
        let key = ListKey::new("site", format!("{n:04}"));
        [1, n].map(|count| Minute {
            key: key.clone(),
            starts: Instant(60_000 * u64::from(count)),
            day: 0,
            count,
        })
    });
    let told = preview(
        minutes.filter(|minute| minute.starts.0 != 0).collect(),
        Policy::THIRD,
    );
    let peaks = told.peaks;
    assert_eq!(
        (peaks.p50, peaks.p90, peaks.p99, peaks.p999, peaks.max),
        (500, 900, 990, 999, 1_000)
    );
    assert_eq!(told.stopped.len(), 901);
    assert_eq!(preview(Vec::new(), Policy::THIRD).peaks.max, 0);
}
