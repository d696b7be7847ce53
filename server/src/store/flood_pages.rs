//! What pages show of a list: who did what, its strikes by day, and the pauses in force.

use spillway::{
    Instant,
    flood::{Component, ListKey},
};
use sqlx::Row;

use super::{
    Error, FloodEntry, Store,
    floods::{component, entry, instant, ms},
};

/// The strikes of one component of a list on one day of its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrikeDay {
    /// The component.
    pub component: Component,
    /// Days from 1970-01-01 to the date in the site's time zone.
    pub day: i32,
    /// How many strikes the day brought.
    pub strikes: u32,
    /// How often one of them disabled the component.
    pub disabled: u32,
}

/// A pause in force, and who made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodPause {
    /// The list's key; empty: the whole site is paused.
    pub list: String,
    /// When it began, on the engine's clock.
    pub since: Instant,
    /// When it ends by itself.
    pub until: Instant,
    /// Who made it.
    pub actor: String,
    /// Why.
    pub reason: String,
}

impl Store {
    /// What people did to a list and its site, and what disabled it, before `before`, newest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn flood_deeds(
        &self,
        list: &ListKey,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<FloodEntry>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM flood_history WHERE site = ? AND list IN (?, '') AND seq < ?
             AND (kind <> 'strike' OR disables = 1) ORDER BY seq DESC LIMIT ?",
        )
        .bind(&list.site)
        .bind(&list.list)
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(&self.pool)
        .await;
        let rows = rows.map_err(Error::on("read what was done to a list"))?;
        Ok(rows.iter().map(entry).collect())
    }

    /// A list's strikes by component and day, the oldest day first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn strike_days(&self, list: &ListKey) -> Result<Vec<StrikeDay>, Error> {
        let rows = sqlx::query(
            "SELECT component, day, count(*) AS strikes, sum(disables) AS disabled
             FROM flood_history WHERE site = ? AND list = ? AND kind = 'strike'
             GROUP BY day, component ORDER BY day, component",
        )
        .bind(&list.site)
        .bind(&list.list)
        .fetch_all(&self.pool)
        .await;
        let rows = rows.map_err(Error::on("read the strikes of a list"))?;
        let days = rows.iter().filter_map(|row| {
            Some(StrikeDay {
                component: component(row.get("component"))?,
                day: row.get("day"),
                strikes: row.get("strikes"),
                disabled: row.get("disabled"),
            })
        });
        Ok(days.collect())
    }

    /// The pauses of a list and of its site that are in force at `now`.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn flood_pauses_of(
        &self,
        list: &ListKey,
        now: Instant,
    ) -> Result<Vec<FloodPause>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM flood_pauses WHERE site = ? AND list IN (?, '') AND until_at_ms > ?
             ORDER BY list DESC, since_at_ms DESC",
        )
        .bind(&list.site)
        .bind(&list.list)
        .bind(ms(now))
        .fetch_all(&self.pool)
        .await;
        let rows = rows.map_err(Error::on("read the pauses of a list"))?;
        let pauses = rows.iter().map(|row| FloodPause {
            list: row.get("list"),
            since: instant(row.get("since_at_ms")),
            until: instant(row.get("until_at_ms")),
            actor: row.get("actor"),
            reason: row.get("reason"),
        });
        Ok(pauses.collect())
    }
}
