//! Sites, and what happened to their lists.

mod letters;

use jiff::Timestamp;
use serde_json::{Value, json};
use spillway::{
    Instant,
    flood::{self, Component, Day, Disabled, ListKey, Pause},
};
use sqlx::{Row, sqlite::SqliteRow};

use super::{Error, Store, write::Write};
use crate::{
    audit::{Act, By, action},
    floods::{Disabling, Site},
};
pub use letters::FloodLetter;

/// Something that must not be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FloodAct {
    /// A minute reached the threshold.
    Strike(Strike),
    /// Somebody put something right, or paused it.
    Operated(Operated),
}

/// A strike of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// The site's key.
    pub site: String,
    /// The list's key within the site.
    pub list: String,
    /// The component.
    pub component: Component,
    /// What the guard said.
    pub strike: flood::Strike,
    /// The day that it counts for.
    pub day: Day,
    /// When it came in, on the engine's clock.
    pub at: Instant,
    /// The same on the wall clock, Unix milliseconds: the audit log's.
    pub wall_ms: i64,
    /// What the site's admins are told beside, where it disables.
    pub disabling: Option<Disabling>,
}

/// Something that somebody did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operated {
    /// The site's key.
    pub site: String,
    /// The list's key; empty: the whole site.
    pub list: String,
    /// What.
    pub operation: FloodOperation,
    /// When, on the engine's clock.
    pub at: Instant,
    /// The same on the wall clock, Unix milliseconds: the audit log's.
    pub wall_ms: i64,
    /// When a pause that begins will end, on the wall clock.
    pub until: Option<Timestamp>,
    /// Who, and why.
    pub by: By,
}

/// What people do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloodOperation {
    /// Re-enabled the component.
    Enable(Component),
    /// Paused, from and until then.
    Pause(Pause),
    /// Ended a pause, at its `until`.
    Resume(Pause),
}

/// A line of a list's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodEntry {
    /// Its place in the history of all lists.
    pub seq: i64,
    /// When, on the engine's clock.
    pub at: Instant,
    /// `strike`, `enable`, `pause` or `resume`.
    pub kind: String,
    /// None: it concerns all of them.
    pub component: Option<Component>,
    /// A strike's number within its day.
    pub number: Option<u32>,
    /// The events of the minute that was a strike.
    pub count: Option<u32>,
    /// Whether a strike disabled the component.
    pub disables: bool,
    /// When a pause was to end.
    pub until: Option<Instant>,
    /// Who did it; none: the guard.
    pub actor: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Whether it concerns the whole site.
    pub of_site: bool,
}

impl Store {
    /// Writes these down in order, all of them or none. What was written before is not again.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn write_floods(&self, acts: &[FloodAct]) -> Result<(), Error> {
        if acts.is_empty() {
            return Ok(());
        }
        let mut write = self.write("write down floods").await?;
        for act in acts {
            match act {
                FloodAct::Strike(strike) => write.strike(strike).await?,
                FloodAct::Operated(operated) => write.operated(operated).await?,
            }
        }
        write.commit().await
    }

    /// Takes in a site, whole.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn put_site(&self, site: &Site, by: &By, at_ms: i64) -> Result<(), Error> {
        let mut write = self.write("write down a site").await?;
        let failed = write.failed();
        let was = sqlx::query("SELECT * FROM sites WHERE site = ?")
            .bind(&site.site)
            .fetch_optional(write.connection())
            .await
            .map_err(failed)?;
        let was = was.as_ref().map(stored_site);
        if was.as_ref() == Some(site) {
            return Ok(());
        }
        let statement =
            "INSERT INTO sites (site, title, url, admins, time_zone, region, changed_at_ms)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site) DO UPDATE SET title = excluded.title,
            url = excluded.url, admins = excluded.admins, time_zone = excluded.time_zone,
            region = excluded.region, changed_at_ms = excluded.changed_at_ms";
        let failed = write.failed();
        sqlx::query(statement)
            .bind(&site.site)
            .bind(&site.title)
            .bind(&site.url)
            .bind(json!(site.admins).to_string())
            .bind(&site.time_zone)
            .bind(&site.region)
            .bind(at_ms)
            .execute(write.connection())
            .await
            .map_err(failed)?;
        let act = Act::new(at_ms, by, action::SITE_PUT, format!("site:{}", site.site));
        let act = act
            .was(was.as_ref().map(shown_site))
            .became(shown_site(site));
        write.audit(&act).await?;
        write.commit().await
    }

    /// What is known of a site.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn site(&self, site: &str) -> Result<Option<Site>, Error> {
        let found = sqlx::query("SELECT * FROM sites WHERE site = ?")
            .bind(site)
            .fetch_optional(&self.pool)
            .await;
        let found = found.map_err(Error::on("read a site"))?;
        Ok(found.as_ref().map(stored_site))
    }

    /// All sites.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn sites(&self) -> Result<Vec<Site>, Error> {
        let rows = sqlx::query("SELECT * FROM sites").fetch_all(&self.pool);
        let rows = rows.await.map_err(Error::on("read the sites"))?;
        Ok(rows.iter().map(stored_site).collect())
    }

    /// When the last thing happened to a list, on the engine's clock, if anything did.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn latest_flood(&self) -> Result<Option<Instant>, Error> {
        let latest = sqlx::query_scalar("SELECT MAX(at_ms) FROM flood_history")
            .fetch_one(&self.pool)
            .await;
        let latest: Option<i64> = latest.map_err(Error::on("read when lists flooded"))?;
        Ok(latest.map(instant))
    }

    /// Strikes and re-enablements since then, in the order in which they were written.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn flood_acts_since(&self, since: Instant) -> Result<Vec<FloodAct>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM flood_history WHERE at_ms >= ? AND kind IN ('strike', 'enable') ORDER BY seq",
        )
        .bind(ms(since))
        .fetch_all(&self.pool)
        .await;
        let rows = rows.map_err(Error::on("read the strikes"))?;
        Ok(rows.iter().filter_map(stored_act).collect())
    }

    /// What is disabled.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn floods_disabled(&self) -> Result<Vec<(ListKey, Component, Disabled)>, Error> {
        let rows = sqlx::query("SELECT * FROM flood_disabled")
            .fetch_all(&self.pool)
            .await;
        let rows = rows.map_err(Error::on("read what is disabled"))?;
        let disabled = rows.iter().filter_map(|row| {
            let disabled = Disabled {
                since: instant(row.get("since_at_ms")),
                strike: row.get("strike"),
            };
            Some((key(row), component(row.get("component"))?, disabled))
        });
        Ok(disabled.collect())
    }

    /// Pauses that may still matter; of whole sites where the list is empty.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn flood_pauses(&self) -> Result<Vec<(ListKey, Pause)>, Error> {
        let rows = sqlx::query("SELECT * FROM flood_pauses ORDER BY since_at_ms");
        let rows = rows.fetch_all(&self.pool).await;
        let rows = rows.map_err(Error::on("read the pauses of lists"))?;
        let pause = |row: &SqliteRow| Pause {
            since: instant(row.get("since_at_ms")),
            until: instant(row.get("until_at_ms")),
        };
        Ok(rows.iter().map(|row| (key(row), pause(row))).collect())
    }

    /// What happened to a list, and to its whole site, before `before`, newest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn flood_history(
        &self,
        list: &ListKey,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<FloodEntry>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM flood_history WHERE site = ? AND list IN (?, '') AND seq < ?
             ORDER BY seq DESC LIMIT ?",
        )
        .bind(&list.site)
        .bind(&list.list)
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(&self.pool)
        .await;
        let rows = rows.map_err(Error::on("read the history of a list"))?;
        Ok(rows.iter().map(entry).collect())
    }
}

impl Store {
    /// Forgets what happened to lists before then.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn forget_floods(&self, before: Instant) -> Result<(), Error> {
        let query = sqlx::query("DELETE FROM flood_history WHERE at_ms < ?").bind(ms(before));
        let forgotten = query.execute(&self.pool).await;
        forgotten.map(drop).map_err(Error::on("forget old strikes"))
    }
}

impl Write {
    async fn strike(&mut self, strike: &Strike) -> Result<(), Error> {
        let statement = "INSERT INTO flood_history (at_ms, kind, site, list, component, day,
            day_ends_at_ms, number, minute_at_ms, count, disables)
            VALUES (?, 'strike', ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let failed = self.failed();
        let written = sqlx::query(statement)
            .bind(ms(strike.at))
            .bind(&strike.site)
            .bind(&strike.list)
            .bind(strike.component.name())
            .bind(strike.day.number)
            .bind(ms(strike.day.ends))
            .bind(strike.strike.number)
            .bind(ms(strike.strike.minute))
            .bind(strike.strike.count)
            .bind(strike.strike.disables)
            .execute(self.connection())
            .await
            .map_err(failed)?;
        if written.rows_affected() == 0 || !strike.strike.disables {
            return Ok(());
        }
        self.disable(strike).await
    }

    async fn disable(&mut self, strike: &Strike) -> Result<(), Error> {
        let statement = "INSERT INTO flood_disabled (site, list, component, since_at_ms, strike)
            VALUES (?, ?, ?, ?, ?) ON CONFLICT (site, list, component) DO UPDATE
            SET since_at_ms = excluded.since_at_ms, strike = excluded.strike";
        let failed = self.failed();
        sqlx::query(statement)
            .bind(&strike.site)
            .bind(&strike.list)
            .bind(strike.component.name())
            .bind(ms(strike.at))
            .bind(strike.strike.number)
            .execute(self.connection())
            .await
            .map_err(failed)?;
        let by = By::system("its minutes reached the threshold too often today");
        let subject = format!("list:{}/{}", strike.site, strike.list);
        let became = json!({
            "component": strike.component,
            "state": "disabled",
            "strike": strike.strike.number,
            "count": strike.strike.count,
        });
        let act = Act::new(strike.wall_ms, &by, action::FLOOD_DISABLE, subject);
        self.audit(&act.became(became)).await?;
        self.owe_letters(strike).await
    }

    async fn operated(&mut self, operated: &Operated) -> Result<(), Error> {
        let (kind, action, component, until) = match operated.operation {
            FloodOperation::Enable(of) => ("enable", action::FLOOD_ENABLE, Some(of), None),
            FloodOperation::Pause(pause) => ("pause", action::FLOOD_PAUSE, None, Some(pause.until)),
            FloodOperation::Resume(pause) => {
                ("resume", action::FLOOD_RESUME, None, Some(pause.until))
            }
        };
        let statement = "INSERT INTO flood_history
            (at_ms, kind, site, list, component, until_at_ms, actor, reason)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let failed = self.failed();
        sqlx::query(statement)
            .bind(ms(operated.at))
            .bind(kind)
            .bind(&operated.site)
            .bind(&operated.list)
            .bind(component.map(Component::name))
            .bind(until.map(ms))
            .bind(operated.by.actor.to_string())
            .bind(&operated.by.reason)
            .execute(self.connection())
            .await
            .map_err(failed)?;
        self.state_of(operated).await?;
        let subject = match operated.list.as_str() {
            "" => format!("site:{}", operated.site),
            list => format!("list:{}/{list}", operated.site),
        };
        let act = Act::new(operated.wall_ms, &operated.by, action, subject);
        let (was, became) = told(operated);
        self.audit(&act.was(was).became(became)).await
    }

    /// What is so since then.
    async fn state_of(&mut self, operated: &Operated) -> Result<(), Error> {
        let failed = self.failed();
        let (site, list) = (&operated.site, &operated.list);
        let query = match operated.operation {
            FloodOperation::Enable(component) => sqlx::query(
                "DELETE FROM flood_disabled WHERE site = ? AND list = ? AND component = ?",
            )
            .bind(site)
            .bind(list)
            .bind(component.name()),
            FloodOperation::Pause(pause) => {
                self.forget_pauses(operated.at).await?;
                sqlx::query(
                    "INSERT INTO flood_pauses (site, list, since_at_ms, until_at_ms, actor, reason)
                     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (site, list, since_at_ms) DO UPDATE
                     SET until_at_ms = excluded.until_at_ms, actor = excluded.actor,
                     reason = excluded.reason",
                )
                .bind(site)
                .bind(list)
                .bind(ms(pause.since))
                .bind(ms(pause.until))
                .bind(operated.by.actor.to_string())
                .bind(operated.by.reason.clone().unwrap_or_default())
            }
            FloodOperation::Resume(pause) => sqlx::query(
                "UPDATE flood_pauses SET until_at_ms = ?
                 WHERE site = ? AND list = ? AND since_at_ms = ?",
            )
            .bind(ms(pause.until))
            .bind(site)
            .bind(list)
            .bind(ms(pause.since)),
        };
        query.execute(self.connection()).await.map_err(failed)?;
        Ok(())
    }

    /// Those that ended so long ago that no report can be of their time.
    async fn forget_pauses(&mut self, now: Instant) -> Result<(), Error> {
        let failed = self.failed();
        let reached = now.0.saturating_sub(2 * flood::LATE_MS_MAX);
        sqlx::query("DELETE FROM flood_pauses WHERE until_at_ms < ?")
            .bind(ms(Instant(reached)))
            .execute(self.connection())
            .await
            .map(drop)
            .map_err(failed)
    }
}

/// How it was and how it is since, for the audit log.
fn told(operated: &Operated) -> (Option<Value>, Value) {
    let until = operated.until.map(|until| format!("{until:.3}"));
    match operated.operation {
        FloodOperation::Enable(component) => (
            Some(json!({ "component": component, "state": "disabled" })),
            json!({ "component": component, "state": "enabled" }),
        ),
        FloodOperation::Pause(_) => (None, json!({ "state": "paused", "until": until })),
        FloodOperation::Resume(_) => (
            Some(json!({ "state": "paused" })),
            json!({ "state": "resumed" }),
        ),
    }
}

pub(super) fn ms(at: Instant) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

pub(super) fn instant(ms: i64) -> Instant {
    Instant(u64::try_from(ms).unwrap_or(0))
}

pub(super) fn component(name: &str) -> Option<Component> {
    Component::ALL.into_iter().find(|it| it.name() == name)
}

pub(super) fn key(row: &SqliteRow) -> ListKey {
    let (site, list): (String, String) = (row.get("site"), row.get("list"));
    ListKey { site, list }
}

fn stored_site(row: &SqliteRow) -> Site {
    let admins: String = row.get("admins");
    Site {
        site: row.get("site"),
        title: row.get("title"),
        url: row.get("url"),
        admins: serde_json::from_str(&admins).unwrap_or_default(),
        time_zone: row.get("time_zone"),
        region: row.get("region"),
    }
}

fn shown_site(site: &Site) -> Value {
    json!({
        "title": site.title,
        "url": site.url,
        "admins": site.admins,
        "time_zone": site.time_zone,
        "region": site.region,
    })
}

/// A strike or a re-enablement.
fn stored_act(row: &SqliteRow) -> Option<FloodAct> {
    let ListKey { site, list } = key(row);
    let component = component(row.get("component"))?;
    let at = instant(row.get("at_ms"));
    if row.get::<&str, _>("kind") == "enable" {
        return Some(FloodAct::Operated(Operated {
            site,
            list,
            operation: FloodOperation::Enable(component),
            at,
            wall_ms: 0,
            until: None,
            by: By::system("at the start"),
        }));
    }
    let day = Day {
        number: row.get("day"),
        ends: instant(row.get("day_ends_at_ms")),
    };
    Some(FloodAct::Strike(Strike {
        site,
        list,
        component,
        strike: flood::Strike {
            number: row.get("number"),
            day: day.number,
            minute: instant(row.get("minute_at_ms")),
            count: row.get("count"),
            disables: row.get("disables"),
        },
        day,
        at,
        wall_ms: 0,
        disabling: None,
    }))
}

pub(super) fn entry(row: &SqliteRow) -> FloodEntry {
    FloodEntry {
        seq: row.get("seq"),
        at: instant(row.get("at_ms")),
        kind: row.get("kind"),
        component: row.get::<Option<&str>, _>("component").and_then(component),
        number: row.get("number"),
        count: row.get("count"),
        disables: row.get::<Option<bool>, _>("disables").unwrap_or(false),
        until: row.get::<Option<i64>, _>("until_at_ms").map(instant),
        actor: row.get("actor"),
        reason: row.get("reason"),
        of_site: row.get::<&str, _>("list").is_empty(),
    }
}
