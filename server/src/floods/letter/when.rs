//! Instants as the people of a site read them: by their own clock, and by UTC.

use jiff::{Timestamp, tz::TimeZone};

/// Says instants in a zone and in UTC.
#[derive(Clone, Debug)]
pub struct When {
    /// Another zone than UTC, and its name.
    zone: Option<(TimeZone, String)>,
}

impl When {
    /// In the zone of this name; in UTC alone where there is none, or it is UTC itself.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let zone = TimeZone::get(name).ok();
        let zone = zone.filter(|zone| *zone != TimeZone::UTC && name != "UTC");
        Self {
            zone: zone.map(|zone| (zone, name.to_owned())),
        }
    }

    /// `2026-11-30 13:00:07 Europe/Berlin (12:00:07 UTC)`.
    #[must_use]
    pub fn to_second(&self, at: Timestamp) -> String {
        self.said(at, "%H:%M:%S")
    }

    /// `2026-11-30 13:00 Europe/Berlin (12:00 UTC)`.
    #[must_use]
    pub fn to_minute(&self, at: Timestamp) -> String {
        self.said(at, "%H:%M")
    }

    /// The date of UTC is said where it is another.
    fn said(&self, at: Timestamp, clock: &str) -> String {
        let whole = format!("%Y-%m-%d {clock}");
        let Some((zone, name)) = &self.zone else {
            return format!("{} UTC", at.strftime(&whole));
        };
        let (own, utc) = (
            at.to_zoned_datetime(zone.clone()),
            at.to_zoned_datetime(TimeZone::UTC),
        );
        let beside = if own.date() == utc.date() {
            clock
        } else {
            &whole
        };
        format!(
            "{} {name} ({} UTC)",
            own.strftime(&whole),
            utc.strftime(beside)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_said_by_the_site_s_clock_and_by_utc() {
        let said = |zone: &str, at: &str| When::of(zone).to_second(at.parse().unwrap());
        for (zone, at, expected) in [
            ("UTC", "2026-11-30T12:00:07Z", "2026-11-30 12:00:07 UTC"),
            (
                "Europe/Berlin",
                "2026-11-30T12:00:07Z",
                "2026-11-30 13:00:07 Europe/Berlin (12:00:07 UTC)",
            ),
            (
                "America/Sao_Paulo",
                "2026-11-30T01:00:00Z",
                "2026-11-29 22:00:00 America/Sao_Paulo (2026-11-30 01:00:00 UTC)",
            ),
            // The hour that comes twice: UTC tells one from the other.
            (
                "Europe/Berlin",
                "2026-10-25T00:30:00Z",
                "2026-10-25 02:30:00 Europe/Berlin (00:30:00 UTC)",
            ),
            (
                "Europe/Berlin",
                "2026-10-25T01:30:00Z",
                "2026-10-25 02:30:00 Europe/Berlin (01:30:00 UTC)",
            ),
            // A zone that an older version knew.
            (
                "Nowhere/Land",
                "2026-11-30T12:00:07Z",
                "2026-11-30 12:00:07 UTC",
            ),
        ] {
            assert_eq!(said(zone, at), expected);
        }
    }
}
