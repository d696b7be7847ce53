//! The days of sites, by their time zones.

use std::collections::HashMap;

use jiff::{
    Timestamp,
    civil::{self, Date},
    tz::TimeZone,
};
use spillway::{Instant, flood::Day};

const UTC_DAY_MS: u64 = 86_400_000;

/// The days of a shard's sites. A day is worked out once: to do so costs more than to count.
#[derive(Debug, Default)]
pub(super) struct Days {
    /// Sites with another zone than UTC.
    zones: HashMap<String, Zone>,
}

#[derive(Debug)]
struct Zone {
    zone: TimeZone,
    /// The day that was asked for last, and its first instant.
    last: Option<(Instant, Day)>,
}

impl Days {
    /// The site has this zone from now on.
    pub(super) fn set(&mut self, site: &str, zone: TimeZone) {
        if zone == TimeZone::UTC {
            self.zones.remove(site);
        } else {
            self.zones
                .insert(site.to_owned(), Zone { zone, last: None });
        }
    }

    /// The site's day at that instant.
    pub(super) fn of(&mut self, site: &str, at: Instant) -> Day {
        let Some(zone) = self.zones.get_mut(site) else {
            return utc(at);
        };
        if let Some((begins, day)) = zone.last
            && begins <= at
            && at < day.ends
        {
            return day;
        }
        let found = day(&zone.zone, at);
        zone.last = found;
        found.map_or_else(|| utc(at), |(_, day)| day)
    }

    /// The same for who only looks.
    pub(super) fn look(&self, site: &str, at: Instant) -> Day {
        let zone = self.zones.get(site);
        let found = zone.and_then(|zone| day(&zone.zone, at));
        found.map_or_else(|| utc(at), |(_, day)| day)
    }
}

fn utc(at: Instant) -> Day {
    let number = at.0 / UTC_DAY_MS;
    Day {
        number: i32::try_from(number).unwrap_or(i32::MAX),
        ends: Instant((number + 1).saturating_mul(UTC_DAY_MS)),
    }
}

/// The day of `at`, and its first instant; none beyond the years that the calendar knows.
fn day(zone: &TimeZone, at: Instant) -> Option<(Instant, Day)> {
    let timestamp = Timestamp::from_millisecond(i64::try_from(at.0).ok()?).ok()?;
    let date = timestamp.to_zoned_datetime(zone.clone()).date();
    let day = Day {
        number: (date - civil::date(1970, 1, 1)).get_days(),
        ends: begins(zone, date.tomorrow().ok()?)?,
    };
    Some((begins(zone, date)?, day))
}

fn begins(zone: &TimeZone, date: Date) -> Option<Instant> {
    let midnight = date.to_zoned_datetime(zone.clone()).ok()?;
    let ms = midnight.timestamp().as_millisecond();
    u64::try_from(ms).ok().map(Instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> Instant {
        let at: Timestamp = text.parse().unwrap();
        Instant(at.as_millisecond().try_into().unwrap())
    }

    #[test]
    fn days_end_at_the_sites_midnight() {
        let mut days = Days::default();
        days.set("berlin", TimeZone::get("Europe/Berlin").unwrap());
        for (site, at, ends) in [
            ("unknown", "2026-03-29T23:30:00Z", "2026-03-30T00:00:00Z"),
            // The day of 23 hours, and the one of 25.
            ("berlin", "2026-03-29T00:30:00Z", "2026-03-29T22:00:00Z"),
            ("berlin", "2026-03-28T22:59:59.999Z", "2026-03-28T23:00:00Z"),
            ("berlin", "2026-10-25T22:30:00Z", "2026-10-25T23:00:00Z"),
            ("berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        ] {
            let day = days.of(site, instant(at));
            assert_eq!(day.ends, instant(ends), "{site} {at}");
            assert_eq!(day, days.look(site, instant(at)));
            // Kept, and left again.
            assert_eq!(days.of(site, Instant(day.ends.0 - 1)), day);
            assert_eq!(days.of(site, day.ends).number, day.number + 1);
        }
    }
}
