//! The demo's sites, told to the database before the server starts, as a platform would by the
//! API; and the bulk import's pause.

use jiff::Timestamp;
use spillway::{
    Instant,
    flood::{ListKey, Pause},
};

use crate::{
    audit::By,
    floods::Site,
    store::{self, FloodAct, FloodOperation, Operated, Store},
};

/// A site of the demo.
pub(super) struct Told {
    pub(super) key: &'static str,
    title: &'static str,
    region: &'static str,
    zone: &'static str,
    /// Its lists, all of them quiet.
    pub(super) lists: &'static [&'static str],
}

/// They.
pub(super) const SITES: [Told; 6] = [
    Told {
        key: "garden",
        title: "Garden shop",
        region: "eu-west",
        zone: "Europe/Berlin",
        lists: &[
            "Orders",
            "Returns",
            "Newsletter",
            "Deliveries",
            "Stock",
            "Gift cards",
        ],
    },
    Told {
        key: "clinic",
        title: "St. Anne clinic",
        region: "eu-west",
        zone: "Europe/Berlin",
        lists: &[
            "Appointments",
            "Beds",
            "Prescriptions",
            "Visitors",
            "Lab results",
        ],
    },
    Told {
        key: "school",
        title: "City school",
        region: "us-east",
        zone: "America/New_York",
        lists: &["Absences", "Grades", "Library", "Lunch", "Field trips"],
    },
    Told {
        key: "fleet",
        title: "Fleet and tolls",
        region: "us-east",
        zone: "America/Chicago",
        lists: &["Trips", "Fuel", "Inspections", "Damages"],
    },
    Told {
        key: "hotel",
        title: "Harbour hotel",
        region: "ap-south",
        zone: "Asia/Singapore",
        lists: &[
            "Bookings",
            "Housekeeping",
            "Room service",
            "Reviews",
            "Minibar",
        ],
    },
    Told {
        key: "museum",
        title: "Museum of tides",
        region: "sa-east",
        zone: "America/Sao_Paulo",
        lists: &["Tickets", "Guides", "Donations"],
    },
];

/// The site and the list whose rule fires itself: each event writes to the list, which is an event.
pub(super) const RUNAWAY: (&str, &str) = ("garden", "Loyalty points");

/// The site and the list of the bulk import.
pub(super) const IMPORT: (&str, &str) = ("school", "Grades of 2019 to 2025");

/// How long the import is paused, by the guard's clock: longer than a demo runs, however fast.
const PAUSED_MS: u64 = 400 * 86_400_000;

/// Tells of them in the database at `url`.
pub(in crate::demo) async fn tell(url: &str, now: Timestamp) -> Result<(), super::NotTold> {
    let store = Store::open(url).await?;
    let by = By::system("a demo starts");
    for site in &SITES {
        let site = Site {
            site: site.key.to_owned(),
            title: site.title.to_owned(),
            url: String::new(),
            admins: vec![format!("admin@{}.example", site.key)],
            time_zone: site.zone.to_owned(),
            region: site.region.to_owned(),
        };
        store.put_site(&site, &by, now.as_millisecond()).await?;
    }
    pause(&store, now).await?;
    store.close().await;
    Ok(())
}

/// Pauses the import's list, unless an earlier demo in the same folder has.
async fn pause(store: &Store, now: Timestamp) -> Result<(), store::Error> {
    let key = ListKey::new(IMPORT.0, IMPORT.1);
    let pauses = store.flood_pauses().await?;
    if pauses.iter().any(|(of, _)| *of == key) {
        return Ok(());
    }
    let since = Instant(u64::try_from(now.as_millisecond()).unwrap_or(0));
    let until = since.plus_ms(PAUSED_MS);
    let wall = i64::try_from(until.0).ok();
    let operated = Operated {
        site: key.site,
        list: key.list,
        operation: FloodOperation::Pause(Pause { since, until }),
        at: since,
        wall_ms: now.as_millisecond(),
        until: wall.and_then(|ms| Timestamp::from_millisecond(ms).ok()),
        by: By::system("bulk import of old grades"),
    };
    store.write_floods(&[FloodAct::Operated(operated)]).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_site_can_be_told_and_is_there_once() {
        let keys: BTreeSet<_> = SITES.iter().map(|site| site.key).collect();
        assert_eq!(keys.len(), SITES.len());
        assert!(keys.contains(RUNAWAY.0) && keys.contains(IMPORT.0));
        let regions: BTreeSet<_> = SITES.iter().map(|site| site.region).collect();
        assert!(regions.len() >= 4);
        for site in &SITES {
            assert!(jiff::tz::TimeZone::get(site.zone).is_ok(), "{}", site.zone);
        }
    }

    #[tokio::test]
    async fn they_are_told_once_and_the_import_is_paused() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/demo.db", dir.path().display());
        let now: Timestamp = "2026-12-01T06:00:00Z".parse().unwrap();
        tell(&url, now).await.unwrap();
        tell(&url, now).await.unwrap();
        let store = Store::open(&url).await.unwrap();
        assert_eq!(store.sites().await.unwrap().len(), SITES.len());
        assert_eq!(store.flood_pauses().await.unwrap().len(), 1);
        store.close().await;
    }
}
