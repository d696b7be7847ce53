//! The machine on a clock of its own: a look each five seconds, as the driver takes them.

use spillway_app::live::{BreakerReason, Scope};

use super::*;

const LOOK_MS: i64 = 5_000;
const MINUTE_MS: i64 = 60_000;
const START_MS: i64 = 1_800_000_000_000;

const RULES: Rules = Rules {
    tell_after_ms: 5 * MINUTE_MS,
    over_after_ms: 10 * MINUTE_MS,
    drift_min: u32::MAX,
    per_hour_max: 12,
};

fn app(name: &str) -> Subject {
    Subject::Breaker {
        upstream: "graph".into(),
        workload: "onenote".into(),
        whose: Whose {
            scope: Scope::App,
            app: name.into(),
            tenant: String::new(),
        },
    }
}

fn open() -> Trouble {
    Trouble {
        is_full: true,
        reason: Some(BreakerReason::Throttled),
        ..Trouble::default()
    }
}

/// What was told, and when, in milliseconds since the start.
struct Story {
    incidents: Incidents,
    rules: Rules,
    now_ms: i64,
    told: Vec<(i64, Vec<Incident>)>,
}

impl Story {
    fn new(rules: Rules) -> Self {
        Self {
            incidents: Incidents::default(),
            rules,
            now_ms: START_MS,
            told: Vec::new(),
        }
    }

    /// Looks at what is wrong by the time since the start, until then.
    fn until_ms(&mut self, end_ms: i64, wrong: impl Fn(i64) -> Vec<(Subject, Trouble)>) {
        while self.now_ms - START_MS < end_ms {
            let since_ms = self.now_ms - START_MS;
            self.look(wrong(since_ms));
            self.now_ms += LOOK_MS;
        }
    }

    fn look(&mut self, wrong: Vec<(Subject, Trouble)>) -> Step {
        let wrong = wrong.into_iter().collect();
        let step = self.incidents.step(self.now_ms, &wrong, &self.rules);
        self.incidents = step.next.clone();
        if !step.told.is_empty() {
            self.told.push((self.now_ms - START_MS, step.told.clone()));
        }
        step
    }

    /// When somebody was told, in minutes, and whether it was of an end.
    fn minutes(&self) -> Vec<(i64, bool)> {
        let told = self.told.iter();
        told.map(|(at_ms, all)| (at_ms / MINUTE_MS, all[0].ended_at_ms.is_some()))
            .collect()
    }
}

/// Case 44 [konga#401, maple#237], as the machine sees it.
#[test]
fn twelve_hours_open_are_one_message_and_one_when_it_is_over() {
    let mut story = Story::new(RULES);
    let twelve_hours = 720 * MINUTE_MS;
    story.until_ms(twelve_hours + 60 * MINUTE_MS, |at| {
        Vec::from_iter((at < twelve_hours).then(|| (app("a"), open())))
    });
    assert_eq!(story.minutes(), [(5, false), (730, true)]);
    let over = &story.told[1].1[0];
    assert_eq!(over.ended_at_ms, Some(START_MS + twelve_hours));
    assert!(story.incidents.all().is_empty());
}

/// The same where it closes and opens again: each gap is a little under ten minutes at most.
#[test]
fn twelve_hours_of_flapping_are_one_message_and_one_when_it_is_over() {
    for (open_s, closed_s) in [(30, 20), (60, 590), (590, 60), (5, 5)] {
        let mut story = Story::new(RULES);
        let (period_ms, open_ms) = ((open_s + closed_s) * 1_000, open_s * 1_000);
        let twelve_hours = 720 * MINUTE_MS;
        story.until_ms(twelve_hours + 60 * MINUTE_MS, |at| {
            let is_open = at < twelve_hours && at % period_ms < open_ms;
            Vec::from_iter(is_open.then(|| (app("a"), open())))
        });
        let told = story.minutes();
        assert_eq!(told.len(), 2, "{open_s} {closed_s}: {told:?}");
        assert!(!told[0].1 && told[1].1);
        let returns = story.told[1].1[0].returns;
        let periods = u32::try_from(twelve_hours / period_ms).unwrap();
        assert!(returns.abs_diff(periods) <= 1, "{returns} of {periods}");
    }
}

#[test]
fn what_is_short_is_told_nobody() {
    let mut story = Story::new(RULES);
    story.until_ms(60 * MINUTE_MS, |at| {
        Vec::from_iter((at < 4 * MINUTE_MS).then(|| (app("a"), open())))
    });
    assert_eq!(story.told, []);
    assert!(story.incidents.all().is_empty());
}

/// After one refusal at night nobody calls for hours, and the breaker waits for a probe.
#[test]
fn a_breaker_that_only_waits_for_a_probe_is_told_nobody() {
    let mut story = Story::new(RULES);
    let half_open = Trouble::default();
    story.until_ms(60 * MINUTE_MS, |at| match at {
        0..20_000 => vec![(app("a"), open())],
        20_000..900_000 => vec![(app("a"), half_open.clone())],
        _ => vec![],
    });
    assert_eq!(story.told, []);
}

#[test]
fn what_an_operator_forced_begins_nothing_and_ends_nothing() {
    let forced = Trouble {
        is_wanted: true,
        ..open()
    };
    let mut story = Story::new(RULES);
    story.until_ms(30 * MINUTE_MS, |_| vec![(app("a"), forced.clone())]);
    assert_eq!(story.told, []);
    story.until_ms(40 * MINUTE_MS, |_| vec![(app("a"), open())]);
    story.until_ms(60 * MINUTE_MS, |_| vec![(app("a"), forced.clone())]);
    assert_eq!(story.minutes(), [(35, false)]);
}

#[test]
fn an_upstream_that_throttles_again_and_again_is_told_before_it_lasts() {
    let rules = Rules {
        drift_min: 3,
        ..RULES
    };
    let mut story = Story::new(rules);
    // Each minute it opens for five seconds, and is quiet, so that its count begins anew.
    let once = Trouble { drift: 1, ..open() };
    story.until_ms(4 * MINUTE_MS, |at| {
        Vec::from_iter((at % MINUTE_MS < 5_000).then(|| (app("a"), once.clone())))
    });
    assert_eq!(story.minutes(), [(2, false)]);
    assert_eq!(story.told[0].1[0].drift, 3);
}

#[test]
fn what_begins_together_is_told_together() {
    let mut story = Story::new(RULES);
    let all: Vec<_> = (0..13)
        .map(|n| (app(&format!("a{n:02}")), open()))
        .collect();
    story.until_ms(20 * MINUTE_MS, |_| all.clone());
    assert_eq!(story.minutes(), [(5, false)]);
    assert_eq!(story.told[0].1.len(), 13);
}

/// A new app in trouble each minute: twelve messages within any hour, and nothing lost.
#[test]
fn beyond_so_many_an_hour_all_is_told_together_later() {
    let mut story = Story::new(RULES);
    let began = |at: i64| 0..=at / MINUTE_MS;
    story.until_ms(180 * MINUTE_MS, |at| {
        began(at.min(100 * MINUTE_MS))
            .map(|n| (app(&format!("a{n:03}")), open()))
            .collect()
    });
    let at: Vec<_> = story.told.iter().map(|(at, _)| *at).collect();
    for window in at.windows(13) {
        assert!(window[12] - window[0] >= HOUR_MS, "{window:?}");
    }
    let told: usize = story.told.iter().map(|(_, all)| all.len()).sum();
    assert_eq!(told, 101);
    assert!(story.told.iter().any(|(_, all)| all.len() > 12));
}

/// Nobody could be told until it was over: then that is told, once.
#[test]
fn what_is_over_before_it_could_be_told_is_told_once() {
    let rules = Rules {
        per_hour_max: 1,
        ..RULES
    };
    let mut story = Story::new(rules);
    story.until_ms(10 * MINUTE_MS, |_| vec![(app("first"), open())]);
    story.until_ms(90 * MINUTE_MS, |at| {
        let second = (at < 20 * MINUTE_MS).then(|| (app("second"), open()));
        [(app("first"), open())].into_iter().chain(second).collect()
    });
    assert_eq!(story.minutes(), [(5, false), (65, true)]);
    let [second] = &story.told[1].1[..] else {
        panic!("{:?}", story.told[1]);
    };
    assert_eq!(
        (second.told_at_ms, second.end_told_at_ms).1,
        second.told_at_ms
    );
}

/// Whatever step the process ends after, the story goes on as if it had not.
#[test]
fn a_restart_forgets_and_repeats_nothing() {
    let wrong = |at: i64| Vec::from_iter((at < 60 * MINUTE_MS).then(|| (app("a"), open())));
    let mut whole = Story::new(RULES);
    whole.until_ms(80 * MINUTE_MS, wrong);
    for restart_ms in (0..80 * MINUTE_MS).step_by(60_000) {
        let mut story = Story::new(RULES);
        let mut kept: BTreeMap<(Subject, i64), Incident> = BTreeMap::new();
        while story.now_ms - START_MS < 80 * MINUTE_MS {
            let since_ms = story.now_ms - START_MS;
            for incident in story.look(wrong(since_ms)).changed {
                // As the database has it.
                let json = serde_json::to_string(&incident).unwrap();
                let incident: Incident = serde_json::from_str(&json).unwrap();
                kept.insert((incident.subject.clone(), incident.began_at_ms), incident);
            }
            if since_ms == restart_ms {
                let all = kept.values().filter(|it| !it.is_settled()).cloned();
                let told = story.told.iter().map(|(at, _)| START_MS + at);
                story.incidents = Incidents::restored(all.collect(), told);
            }
            story.now_ms += LOOK_MS;
        }
        assert_eq!(story.told, whole.told, "restarted at {restart_ms}");
    }
}

#[test]
fn a_quiet_look_writes_nothing() {
    let mut story = Story::new(RULES);
    story.look(vec![(app("a"), open())]);
    story.now_ms += LOOK_MS;
    let later = Trouble {
        until_ms: Some(7),
        ..open()
    };
    assert_eq!(story.look(vec![(app("a"), later)]).changed, []);
}

#[test]
fn more_trouble_than_can_go_on_is_counted() {
    let mut story = Story::new(RULES);
    let all = (0..OPEN_MAX + 7).map(|n| (app(&n.to_string()), open()));
    assert_eq!(story.look(all.collect()).left_out, 7);
    assert_eq!(story.incidents.all().len(), OPEN_MAX);
}
