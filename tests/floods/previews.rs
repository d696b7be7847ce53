//! A preview says what would have happened: the guard, fed with the same minutes, does that.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spillway::Instant;
use spillway::flood::{
    Component, Day, Decision, Event, Guard, ListKey, Minute, Policy, Recorded, Settings, Trigger,
    preview,
};

const DAY: u64 = 86_400_000;

#[derive(Default, Debug, PartialEq, Eq)]
struct Happened {
    strikes: u32,
    events: u64,
    disabled: Option<Instant>,
}

/// What the guard does when the minutes' events come one by one.
fn happen(
    recorded: &[Recorded],
    own: &ListKey,
    policies: [Policy; 2],
) -> BTreeMap<ListKey, Happened> {
    let settings = Settings {
        lists_max: 10,
        seed: 5,
    };
    let mut guard = Guard::new(settings, [policies[0]; 4]);
    guard.set_override(own.clone(), Component::Alert, Some(policies[1]));
    let of_list = |list: &Recorded| (list.key.clone(), happen_on(&mut guard, list));
    let mut happened: BTreeMap<_, _> = recorded.iter().map(of_list).collect();
    happened.retain(|_, list| list.strikes > 0);
    happened
}

fn happen_on(guard: &mut Guard, list: &Recorded) -> Happened {
    let mut happened = Happened::default();
    for minute in &list.minutes {
        let ends = Instant((minute.starts.0 / DAY + 1) * DAY);
        for _ in 0..minute.count {
            let event = Event {
                site: &list.key.site,
                list: &list.key.list,
                component: Component::Alert,
                trigger: Trigger::Event,
                at: minute.starts,
                day: Day {
                    number: minute.day,
                    ends,
                },
            };
            let answer = guard.ask(minute.starts, &event).expect("there is room");
            happened.events += u64::from(answer.decision != Decision::Handle);
            happened.strikes += u32::from(answer.strike.is_some());
            if answer.strike.is_some_and(|strike| strike.disables) {
                happened.disabled = Some(minute.starts);
            }
        }
    }
    happened
}

fn minute(starts: u64, count: u32) -> Minute {
    Minute {
        starts: Instant(starts),
        day: (starts / DAY) as i32,
        count,
    }
}

fn recorded() -> impl Strategy<Value = Vec<Recorded>> {
    let counts = proptest::collection::btree_map(0_u64..400, 1_u32..9, 1..40);
    proptest::collection::vec(counts, 0..3).prop_map(|lists| {
        let list = |(n, counts): (usize, BTreeMap<u64, u32>)| Recorded {
            key: ListKey::new("site", n.to_string()),
            minutes: counts
                .into_iter()
                .map(|(n, count)| minute(20_787 * DAY + n * 600_000, count))
                .collect(),
        };
        lists.into_iter().enumerate().map(list).collect()
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    (1_u32..8, 1_u32..5, 0_u32..3).prop_map(|(per_minute, strikes, grace)| {
        Policy::new(per_minute, strikes, grace.min(strikes)).expect("legal")
    })
}

proptest! {
    #[test]
    fn a_preview_comes_true(recorded in recorded(), general in policy(), one in policy()) {
        let own = ListKey::new("site", "0");
        let told = preview(&recorded, |key| if *key == own { one } else { general });
        let told = told.stopped.into_iter().map(|list| {
            let happened = Happened { strikes: list.strikes, events: list.events, disabled: list.disabled };
            (list.key, happened)
        });
        let happened = happen(&recorded, &own, [general, one]);
        prop_assert_eq!(told.collect::<BTreeMap<_, _>>(), happened);
    }
}

#[test]
fn peaks_are_quantiles_over_lists() {
    let list = |n: u32| Recorded {
        key: ListKey::new("site", format!("{n:04}")),
        minutes: vec![minute(0, 1), minute(60_000, n)],
    };
    let recorded: Vec<_> = (1..=1_000).map(list).collect();
    let told = preview(&recorded, |_| Policy::THIRD);
    let peaks = told.peaks;
    assert_eq!(
        [
            peaks.p50, peaks.p90, peaks.p95, peaks.p99, peaks.p999, peaks.max
        ],
        [500, 900, 950, 990, 999, 1_000]
    );
    assert_eq!((told.stopped.len(), told.events), (901, 501_500));
    assert_eq!(preview(&[], |_| Policy::THIRD).peaks.max, 0);
}
