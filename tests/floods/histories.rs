//! Random histories: events in time and late, floods, policies that change, pauses, people who
//! re-enable, lists that are forgotten, and restarts. The guard answers as the plain model does.

use std::collections::HashMap;

use proptest::prelude::*;
use spillway::Instant;
use spillway::flood::{
    Component, Day, Disabled, Event, Guard, ListKey, MinuteRecord, Pause, Policy, Settings,
    StrikeRecord, Trigger,
};

use crate::model::{Model, Plain};

const CASES: u32 = 100_000;
const STEPS: usize = 40;
const DAY: u64 = 86_400_000;
/// 2026-11-30, 23:40 UTC.
const START: u64 = 1_796_082_000_000;

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Events(u64),
    Late(u64),
    Untriggered(bool),
    Policy(u32, u32, u32),
    Enable,
    Pause(usize, u64),
    Resume(usize),
    Forget,
    Restart,
}

/// A step of 64 random bits: a strategy for each step would take longer to draw than to play.
fn step(bits: u64) -> Step {
    let part = bits >> 8;
    let below = |n: u64| part % n;
    match bits % 36 {
        0..=9 => Step::Pass(match part % 14 {
            0..=3 => part / 14 % 3,
            4..=7 => 1_000 + part / 14 % 39_000,
            8..=11 => 60_000,
            12 => 800_000 + part / 14 % 200_000,
            _ => DAY / 2,
        }),
        10..=20 => Step::Events(1 + below(7)),
        21..=25 => Step::Late(below(901_000)),
        26 => Step::Untriggered(below(2) == 0),
        27 => {
            let (strikes, grace) = (1 + below(4) as u32, (part / 4 % 4) as u32);
            Step::Policy(1 + (part / 16 % 5) as u32, strikes, grace.min(strikes))
        }
        28..=30 => Step::Enable,
        31 | 32 => Step::Pause((part % 2) as usize, 1 + part / 2 % 400_000),
        33 => Step::Resume((part % 2) as usize),
        34 => Step::Forget,
        _ => Step::Restart,
    }
}

/// The guard, and what a driver would have written down.
struct Driver {
    guard: Guard,
    key: ListKey,
    zone_ms: u64,
    policy: Policy,
    lines: Vec<Line>,
    minutes: HashMap<Instant, MinuteRecord>,
    pauses: [Vec<Pause>; 2],
}

enum Line {
    Strike(StrikeRecord),
    Disabled(Disabled),
    Enabled(Instant),
}

const COMPONENT: Component = Component::Summary;

fn guard(policy: Policy) -> Guard {
    let settings = Settings {
        lists_max: 3,
        seed: 1,
    };
    let mut guard = Guard::new(settings, [Policy::FIRST; 4]);
    guard.set_policy(COMPONENT, policy);
    guard
}

impl Driver {
    fn new(policy: Policy, zone_ms: u64) -> Self {
        Self {
            guard: guard(policy),
            key: ListKey::new("a site", "a list"),
            zone_ms,
            policy,
            lines: Vec::new(),
            minutes: HashMap::new(),
            pauses: [Vec::new(), Vec::new()],
        }
    }

    fn day(&self, at: Instant) -> Day {
        let number = (at.0 + self.zone_ms) / DAY;
        Day {
            number: i32::try_from(number).expect("not that late"),
            ends: Instant((number + 1) * DAY - self.zone_ms),
        }
    }

    fn ask(&mut self, now: Instant, at: Instant, trigger: Trigger) -> Plain {
        let day = self.day(at);
        let (site, list) = (&self.key.site, &self.key.list);
        let event = Event {
            site,
            list,
            component: COMPONENT,
            trigger,
            at,
            day,
        };
        let answer = self.guard.ask(now, &event).ok()?;
        if let Some(strike) = answer.strike {
            self.lines.push(Line::Strike(StrikeRecord {
                key: self.key.clone(),
                component: COMPONENT,
                day,
                number: strike.number,
                minute: strike.minute,
                count: strike.count,
                at: now,
            }));
            if strike.disables {
                self.lines.push(Line::Disabled(Disabled {
                    since: now,
                    strike: strike.number,
                }));
            }
        }
        let mail = answer.strike.is_some_and(|strike| strike.disables);
        Some((answer.decision, answer.count, answer.strikes, mail))
    }

    fn pause(&mut self, whose: usize, now: Instant, until: Instant) {
        match self.pauses[whose]
            .iter_mut()
            .find(|pause| now < pause.until)
        {
            Some(pause) => pause.until = until,
            None => self.pauses[whose].push(Pause { since: now, until }),
        }
        if whose == 0 {
            self.guard
                .pause_list(now, &self.key, until)
                .expect("there is room");
        } else {
            self.guard.pause_site(now, &self.key.site, until);
        }
    }

    fn resume(&mut self, whose: usize, now: Instant) -> bool {
        for pause in self.pauses[whose]
            .iter_mut()
            .filter(|pause| now < pause.until)
        {
            pause.until = now;
        }
        if whose == 0 {
            self.guard.resume_list(now, &self.key)
        } else {
            self.guard.resume_site(now, &self.key.site)
        }
    }

    fn enable(&mut self, now: Instant) -> bool {
        let enabled = self.guard.enable(now, &self.key, COMPONENT);
        if enabled {
            self.lines.push(Line::Enabled(now));
        }
        enabled
    }

    /// Ends, with all counts written down, and starts again.
    fn restart(&mut self, now: Instant) {
        let minutes = &mut self.minutes;
        self.guard.changed(now, |record| {
            minutes.insert(record.minute, record);
        });
        self.guard = guard(self.policy);
        for line in &self.lines {
            match line {
                Line::Strike(strike) => self.guard.restore_strike(now, strike),
                Line::Disabled(disabled) => {
                    self.guard.restore_disabled(&self.key, COMPONENT, *disabled);
                }
                Line::Enabled(at) => self.guard.restore_enabled(&self.key, COMPONENT, *at),
            }
        }
        for record in self.minutes.values() {
            self.guard.restore_minute(now, record);
        }
        for pause in &self.pauses[0] {
            self.guard.restore_list_pause(&self.key, *pause);
        }
        for pause in &self.pauses[1] {
            self.guard.restore_site_pause(&self.key.site, *pause);
        }
    }
}

fn play(zone_ms: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let policy = Policy::new(3, 2, 1).expect("legal");
    let (mut driver, mut model, mut now) =
        (Driver::new(policy, zone_ms), Model::new(), Instant(START));
    let ask = |driver: &mut Driver, model: &mut Model, now: Instant, at: Instant, trigger| {
        let (day, policy) = (driver.day(at), driver.policy);
        prop_assert_eq!(
            driver.ask(now, at, trigger),
            model.ask(now, at, day, trigger, policy)
        );
        Ok(())
    };
    for step in steps {
        match *step {
            Step::Pass(ms) => now = now.plus_ms(ms),
            Step::Events(number) => {
                for _ in 0..number {
                    ask(&mut driver, &mut model, now, now, Trigger::Event)?;
                }
            }
            Step::Late(ms) => ask(
                &mut driver,
                &mut model,
                now,
                Instant(now.0 - ms),
                Trigger::Event,
            )?,
            Step::Untriggered(manual) => {
                let trigger = if manual {
                    Trigger::Manual
                } else {
                    Trigger::Timer
                };
                ask(&mut driver, &mut model, now, now, trigger)?;
            }
            Step::Policy(per_minute, strikes, grace) => {
                driver.policy = Policy::new(per_minute, strikes, grace).expect("legal");
                driver.guard.set_policy(COMPONENT, driver.policy);
            }
            Step::Enable => prop_assert_eq!(driver.enable(now), model.enable(now)),
            Step::Pause(whose, ms) => {
                driver.pause(whose, now, now.plus_ms(ms));
                model.pause(whose, now, now.plus_ms(ms));
            }
            Step::Resume(whose) => {
                prop_assert_eq!(driver.resume(whose, now), model.resume(whose, now));
            }
            Step::Forget => driver.guard.forget(now),
            Step::Restart => {
                now = now.plus_ms(1);
                driver.restart(now);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn the_guard_answers_as_the_rules_do(
        zone_ms in (0_u64..1440).prop_map(|minutes| minutes * 60_000),
        bits in proptest::collection::vec(any::<u64>(), 1..STEPS),
    ) {
        let steps: Vec<Step> = bits.into_iter().map(step).collect();
        play(zone_ms, &steps).map_err(|error| TestCaseError::fail(format!("{steps:?}: {error}")))?;
    }
}

/// Counts of a minute before the first of two re-enablements came back with a restart.
#[test]
fn what_a_reenablement_undid_stays_undone() {
    use Step::{Enable, Events, Late, Pass, Restart};
    let minute = || Pass(60_000);
    let steps = [
        Events(3),
        minute(),
        Events(3),
        Restart,
        Enable,
        minute(),
        Events(3),
        Enable,
        minute(),
        Restart,
        minute(),
        Late(120_003),
    ];
    play(0, &steps).expect("both answer alike");
}
