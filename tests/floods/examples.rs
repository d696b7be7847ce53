//! The tables of docs/FLOODS.md, row by row.

use jiff::{Timestamp, civil, tz::TimeZone};
use spillway::Instant;
use spillway::flood::{
    Component, Day, Decision, Event, Guard, ListKey, NotCounted, Policy, Settings, Trigger,
};

const TABLES: &str = include_str!("../../docs/FLOODS.md");
const COMPONENT: Component = Component::Action;

/// One row, and what has happened of it.
struct Row {
    guard: Guard,
    key: ListKey,
    policy: Policy,
    zone: TimeZone,
    answer: String,
    handled: u64,
    mails: u32,
}

impl Row {
    fn new(policy: &str, zone: &str) -> Self {
        let parts: Vec<u32> = policy
            .split('/')
            .map(|part| part.parse().expect("a number"))
            .collect();
        let policy = Policy::new(parts[0], parts[1], parts[2]).expect("a legal policy");
        let settings = Settings {
            lists_max: 1,
            seed: 7,
        };
        Self {
            guard: Guard::new(settings, [policy; 4]),
            key: ListKey::new("site", "list"),
            policy,
            zone: TimeZone::get(zone).expect("a known zone"),
            answer: String::new(),
            handled: 0,
            mails: 0,
        }
    }

    /// `12:00`, `12-01 00:00:59.999` or with a year.
    fn time(&self, words: &[&str]) -> Instant {
        let (date, time) = match words {
            [time] => ("2026-11-30".to_owned(), *time),
            [date, time] if date.len() == 5 => (format!("2026-{date}"), *time),
            [date, time] => ((*date).to_owned(), *time),
            _ => panic!("no time: {words:?}"),
        };
        let time = if time.len() == 5 {
            format!("{time}:00")
        } else {
            time.to_owned()
        };
        let local: civil::DateTime = format!("{date}T{time}").parse().expect("a date and time");
        let at = local
            .to_zoned_datetime(self.zone.clone())
            .expect("an instant");
        Instant(
            at.timestamp()
                .as_millisecond()
                .try_into()
                .expect("after 1970"),
        )
    }

    fn day(&self, at: Instant) -> Day {
        let at =
            Timestamp::from_millisecond(at.0.try_into().expect("an instant")).expect("an instant");
        let date = at.to_zoned_datetime(self.zone.clone()).date();
        let ends = date
            .tomorrow()
            .expect("a tomorrow")
            .to_zoned_datetime(self.zone.clone())
            .expect("a midnight");
        Day {
            number: (date - civil::date(1970, 1, 1)).get_days(),
            ends: Instant(
                ends.timestamp()
                    .as_millisecond()
                    .try_into()
                    .expect("after 1970"),
            ),
        }
    }

    fn ask(&mut self, now: Instant, at: Instant, trigger: Trigger) {
        let event = Event {
            site: &self.key.site,
            list: &self.key.list,
            component: COMPONENT,
            trigger,
            at,
            day: self.day(at),
        };
        self.answer = match self.guard.ask(now, &event) {
            Ok(answer) => {
                self.handled += u64::from(answer.decision == Decision::Handle);
                self.mails += u32::from(answer.strike.is_some_and(|strike| strike.disables));
                let decision = format!("{:?}", answer.decision).to_lowercase();
                format!("{decision} {} {}", answer.count, answer.strikes)
            }
            Err(NotCounted::TooLate) => "too late".to_owned(),
            Err(other) => panic!("{other}"),
        };
    }

    fn events(&mut self, number: u32, at: Instant) {
        for _ in 0..number {
            self.ask(at, at, Trigger::Event);
        }
    }

    fn floods(&mut self, minutes: u64, events: u32, from: Instant) {
        for minute in 0..minutes {
            self.events(events, from.plus_ms(minute * 60_000));
        }
    }

    fn step(&mut self, step: &str) {
        let words: Vec<&str> = step.split_whitespace().collect();
        match words.as_slice() {
            [number, "events", at @ ..] => {
                self.events(number.parse().expect("a number"), self.time(at))
            }
            [minutes, "floods", "of", events, from @ ..] => {
                let events = events.parse().expect("a number");
                self.floods(minutes.parse().expect("a number"), events, self.time(from));
            }
            [minutes, "floods", from @ ..] => {
                let events = self.policy.per_minute();
                self.floods(minutes.parse().expect("a number"), events, self.time(from));
            }
            ["late", at, now @ ..] => self.ask(self.time(now), self.time(&[at]), Trigger::Event),
            ["manual", at @ ..] => self.ask(self.time(at), self.time(at), Trigger::Manual),
            ["timer", at @ ..] => self.ask(self.time(at), self.time(at), Trigger::Timer),
            ["pause", until, now @ ..] => {
                let (now, until) = (self.time(now), self.time(&[until]));
                self.guard
                    .pause_list(now, &self.key, until)
                    .expect("there is room");
            }
            ["resume", at @ ..] => assert!(self.guard.resume_list(self.time(at), &self.key)),
            ["enable", at @ ..] => assert!(self.guard.enable(self.time(at), &self.key, COMPONENT)),
            _ => panic!("no step: {step}"),
        }
    }
}

#[test]
fn every_row_of_the_documentation_holds() {
    let mut rows = 0;
    for line in TABLES.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (policy, zone, rest) = match cells.as_slice() {
            [policy, rest @ ..] if rest.len() == 4 => (*policy, "UTC", rest),
            [policy, zone, rest @ ..] if rest.len() == 4 => (*policy, *zone, rest),
            _ => continue,
        };
        if !policy.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let mut row = Row::new(policy, zone);
        rest[0].split(';').for_each(|step| row.step(step));
        let told = [
            row.answer.clone(),
            row.handled.to_string(),
            row.mails.to_string(),
        ];
        assert_eq!(told, rest[1..], "{line}");
        rows += 1;
    }
    assert_eq!(rows, 63, "a table was not understood");
}
