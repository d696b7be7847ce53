//! One component on one list: its minutes, its strikes, and whether it is disabled.

use super::{
    event::{Answer, Day, Decision, Event, Strike},
    minutes::Minutes,
    policy::Policy,
    record::{Disabled, MinuteRecord, StrikeRecord},
    strikes::Strikes,
};
use crate::time::Instant;

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) minutes: Minutes,
    pub(super) strikes: Strikes,
    pub(super) disabled: Option<Disabled>,
    /// When a person re-enabled it last: what happened before counts no more.
    enabled_at: Option<Instant>,
    /// Whether its minutes have changed since they were last written down.
    pub(super) changed: bool,
}

impl State {
    /// What is answered to an event that is not counted.
    pub(super) fn unchanged(&self, decision: Decision, at: Instant, day: Day) -> Answer {
        Answer {
            decision,
            count: self.minutes.at(at).map_or(0, |minute| minute.count),
            strikes: self.strikes.of(day),
            strike: None,
        }
    }

    /// An event that nothing pauses, at `event.at`, which is not later than `now`.
    pub(super) fn count(&mut self, now: Instant, event: &Event<'_>, policy: Policy) -> Answer {
        if self.disabled.is_some() {
            return self.unchanged(Decision::Disabled, event.at, event.day);
        }
        if self.enabled_at.is_some_and(|enabled| event.at < enabled) {
            return self.unchanged(Decision::Handle, event.at, event.day);
        }
        self.changed = true;
        let minute = self.minutes.reach(now, event.at);
        minute.changed = true;
        minute.count = minute.count.saturating_add(1);
        let (count, struck) = (minute.count, u32::from(minute.strike));
        if struck == 0 && count >= policy.per_minute() {
            return self.strike(now, event, count, policy);
        }
        let flooded = struck > policy.grace() && count > policy.per_minute();
        Answer {
            decision: if flooded {
                Decision::Stop
            } else {
                Decision::Handle
            },
            count,
            strikes: self.strikes.of(event.day),
            strike: None,
        }
    }

    /// The event that reached the threshold: still handled, but nothing after it may be.
    fn strike(&mut self, now: Instant, event: &Event<'_>, count: u32, policy: Policy) -> Answer {
        let number = self.strikes.add(now, event.day);
        let minute = self.minutes.reach(now, event.at);
        minute.strike = numbered(number);
        let strike = Strike {
            number,
            day: event.day.number,
            minute: minute.starts,
            count,
            disables: number >= policy.strikes_per_day(),
        };
        if strike.disables {
            self.disabled = Some(Disabled {
                since: now,
                strike: number,
            });
        }
        Answer {
            decision: Decision::Handle,
            count,
            strikes: number,
            strike: Some(strike),
        }
    }

    /// A person has put it right, so what came before counts no more. False if it was not disabled.
    pub(super) fn enable(&mut self, now: Instant) -> bool {
        if self.disabled.take().is_none() {
            return false;
        }
        self.minutes.clear();
        self.enabled_at = Some(now);
        self.changed = true;
        true
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.minutes.forget(now);
        self.strikes.forget(now);
        let reached = |enabled: Instant| now.ms_since(enabled) <= super::LATE_MS_MAX;
        self.enabled_at = self.enabled_at.filter(|enabled| reached(*enabled));
    }

    /// Whether it is as if it had never been asked.
    pub(super) fn is_fresh(&self) -> bool {
        self.minutes.is_empty()
            && self.strikes.is_empty()
            && self.disabled.is_none()
            && self.enabled_at.is_none()
            && !self.changed
    }

    pub(super) fn restore_enabled(&mut self, at: Instant) {
        self.disabled = None;
        self.minutes.clear();
        self.enabled_at = Some(at);
    }

    pub(super) fn restore_strike(&mut self, now: Instant, record: &StrikeRecord) {
        self.strikes.at_least(now, record.day, record.number);
        let minute = self.minutes.reach(now, record.minute);
        minute.strike = numbered(record.number);
        minute.count = minute.count.max(record.count);
        self.forget(now);
    }

    pub(super) fn restore_minute(&mut self, now: Instant, record: &MinuteRecord) {
        if self.enabled_at.is_some_and(|enabled| record.at <= enabled) {
            return;
        }
        let minute = self.minutes.reach(now, record.minute);
        minute.count = minute.count.max(record.count);
        self.minutes.forget(now);
    }
}

fn numbered(strike: u32) -> u16 {
    u16::try_from(strike).unwrap_or(u16::MAX)
}
