//! The recorded counts of lists' minutes: written in batches, read by list, bounded.

use futures_util::TryStreamExt as _;
use spillway::{
    Instant,
    flood::{Component, ListKey, Minute, Recorded},
};
use sqlx::{QueryBuilder, Row, Sqlite, sqlite::SqliteRow};

use super::{
    Error, Store,
    floods::{component, instant, key, ms},
    write::Write,
};

const READ: &str = "read counts of lists";

/// The most rows of one transaction, so that strikes need not wait long behind one.
const BATCH_MAX: usize = 500;

/// The most rows that make room in one transaction, for the same reason.
const EVICTED_MAX: i64 = 2_000;

/// One of the two things that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recording {
    /// Minutes with ten events or more.
    Minutes,
    /// The busiest minute of each day.
    Peaks,
}

/// A minute of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodMinute {
    /// The list.
    pub key: ListKey,
    /// The component.
    pub component: Component,
    /// Which, and how many events.
    pub minute: Minute,
}

/// What there was no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Whose.
    pub component: Component,
    /// What.
    pub what: Recording,
    /// When last, on the engine's clock.
    pub at: Instant,
    /// The highest count among it.
    pub count: u32,
}

impl Recording {
    /// Its table, which `flood_left_out` calls it by, and what a row of it stands for alone.
    const fn table(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Minutes => ("flood_minutes", "minutes", "minute_at_ms"),
            Self::Peaks => ("flood_peaks", "peaks", "day"),
        }
    }

    const ALL: [Self; 2] = [Self::Minutes, Self::Peaks];
}

impl Store {
    /// Writes minutes down, some at a time; one that is there keeps its higher count.
    ///
    /// # Errors
    /// The database cannot be written. What was written stays, and may be written again.
    pub async fn record_floods(
        &self,
        what: Recording,
        minutes: &[FloodMinute],
    ) -> Result<(), Error> {
        for some in minutes.chunks(BATCH_MAX) {
            let mut write = self.write("record counts of lists").await?;
            write.record(what, some).await?;
            write.commit().await?;
        }
        Ok(())
    }

    /// Says that there was no room for something.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn leave_out(&self, left: LeftOut) -> Result<(), Error> {
        let mut write = self.write("say which counts are left out").await?;
        write.leave_out(left).await?;
        write.commit().await
    }

    /// What was left out of a component's, and not so long ago that it is forgotten.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn floods_left_out(&self, of: Component) -> Result<Vec<LeftOut>, Error> {
        let rows = sqlx::query("SELECT * FROM flood_left_out WHERE component = ?")
            .bind(of.name())
            .fetch_all(&self.pool)
            .await;
        let rows = rows.map_err(Error::on("read which counts are left out"))?;
        Ok(rows.iter().filter_map(left_out).collect())
    }

    /// A component's recorded minutes by list since then: those with ten events or more, and of
    /// each day the busiest.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn recorded_floods(
        &self,
        of: Component,
        since: Instant,
    ) -> Result<Vec<Recorded>, Error> {
        let query = "SELECT site, list, minute_at_ms, day, count FROM flood_minutes
             WHERE component = ?1 AND minute_at_ms >= ?2
             UNION ALL SELECT site, list, minute_at_ms, day, count FROM flood_peaks
             WHERE component = ?1 AND minute_at_ms >= ?2
             ORDER BY site, list, minute_at_ms, count";
        let mut rows = sqlx::query(query)
            .bind(of.name())
            .bind(ms(since))
            .fetch(&self.pool);
        let mut lists = Vec::new();
        // One by one: a row weighs many times what is made of it, and they are many.
        while let Some(row) = rows.try_next().await.map_err(Error::on(READ))? {
            add(&mut lists, &row);
        }
        Ok(lists)
    }

    /// All minutes with ten events or more since then.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn flood_minutes(&self, since: Instant) -> Result<Vec<FloodMinute>, Error> {
        let query = "SELECT * FROM flood_minutes WHERE minute_at_ms >= ?";
        let mut rows = sqlx::query(query).bind(ms(since)).fetch(&self.pool);
        let mut minutes = Vec::new();
        while let Some(row) = rows.try_next().await.map_err(Error::on(READ))? {
            minutes.extend(recorded(&row));
        }
        Ok(minutes)
    }

    /// The busiest minute of each day of a list since then, the earliest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn flood_peaks(
        &self,
        list: &ListKey,
        since: Instant,
    ) -> Result<Vec<FloodMinute>, Error> {
        let mut query =
            QueryBuilder::<Sqlite>::new("SELECT * FROM flood_peaks WHERE component IN (");
        let mut names = query.separated(", ");
        for component in Component::ALL {
            names.push_bind(component.name());
        }
        query.push(") AND site = ").push_bind(&list.site);
        query.push(" AND list = ").push_bind(&list.list);
        query.push(" AND minute_at_ms >= ").push_bind(ms(since));
        query.push(" ORDER BY minute_at_ms");
        let rows = query.build().fetch_all(&self.pool).await;
        let rows = rows.map_err(Error::on("read the busiest minutes of a list"))?;
        Ok(rows.iter().filter_map(recorded).collect())
    }

    /// Forgets what was before `before`, and of each recording what is more than `rows_max`, the
    /// quietest first, and says so.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn trim_recorded_floods(
        &self,
        before: Instant,
        now: Instant,
        rows_max: impl Fn(Recording) -> u32,
    ) -> Result<(), Error> {
        for what in Recording::ALL {
            let mut more = true;
            while more {
                let mut write = self.write("forget counts of lists").await?;
                write.forget_recorded(what, before).await?;
                more = write.evict(what, now, rows_max(what)).await?;
                write.commit().await?;
            }
        }
        Ok(())
    }
}

impl Write {
    async fn record(&mut self, what: Recording, minutes: &[FloodMinute]) -> Result<(), Error> {
        if minutes.is_empty() {
            return Ok(());
        }
        let (table, _, by) = what.table();
        let mut query = QueryBuilder::<Sqlite>::new(format!(
            "INSERT INTO {table} (component, site, list, minute_at_ms, day, count) "
        ));
        query.push_values(minutes, |mut row, it| {
            row.push_bind(it.component.name());
            row.push_bind(&it.key.site).push_bind(&it.key.list);
            row.push_bind(ms(it.minute.starts));
            row.push_bind(it.minute.day).push_bind(it.minute.count);
        });
        query.push(format!(
            " ON CONFLICT (component, site, list, {by}) DO UPDATE SET count = excluded.count,
              minute_at_ms = excluded.minute_at_ms, day = excluded.day
              WHERE excluded.count > {table}.count"
        ));
        let failed = self.failed();
        let written = query.build().execute(self.connection()).await;
        written.map(drop).map_err(failed)
    }

    async fn leave_out(&mut self, left: LeftOut) -> Result<(), Error> {
        let statement = "INSERT INTO flood_left_out (component, what, at_ms, count)
            VALUES (?, ?, ?, ?) ON CONFLICT (component, what) DO UPDATE SET at_ms = excluded.at_ms,
            count = CASE WHEN excluded.count > flood_left_out.count
                    THEN excluded.count ELSE flood_left_out.count END";
        let failed = self.failed();
        let written = sqlx::query(statement)
            .bind(left.component.name())
            .bind(left.what.table().1)
            .bind(ms(left.at))
            .bind(left.count)
            .execute(self.connection())
            .await;
        written.map(drop).map_err(failed)
    }

    async fn forget_recorded(&mut self, what: Recording, before: Instant) -> Result<(), Error> {
        let (table, name, _) = what.table();
        let old = format!("DELETE FROM {table} WHERE minute_at_ms < ?");
        let failed = self.failed();
        let gone = sqlx::query(&old).bind(ms(before));
        gone.execute(self.connection()).await.map_err(failed)?;
        let failed = self.failed();
        sqlx::query("DELETE FROM flood_left_out WHERE what = ? AND at_ms < ?")
            .bind(name)
            .bind(ms(before))
            .execute(self.connection())
            .await
            .map(drop)
            .map_err(failed)
    }

    /// Lets the quietest of all components go, at most [`EVICTED_MAX`]. True: more are to.
    async fn evict(&mut self, what: Recording, now: Instant, rows_max: u32) -> Result<bool, Error> {
        let (table, _, by) = what.table();
        let failed = self.failed();
        let rows: i64 = sqlx::query_scalar(&format!("SELECT COUNT(*) FROM {table}"))
            .fetch_one(self.connection())
            .await
            .map_err(failed)?;
        let excess = (rows - i64::from(rows_max)).max(0);
        let gone = format!(
            "DELETE FROM {table} WHERE (component, site, list, {by}) IN
             (SELECT component, site, list, {by} FROM {table} ORDER BY count, minute_at_ms LIMIT ?)
             RETURNING component, count"
        );
        let failed = self.failed();
        let gone = sqlx::query(&gone)
            .bind(excess.min(EVICTED_MAX))
            .fetch_all(self.connection())
            .await
            .map_err(failed)?;
        for left in left_of(&gone, what, now) {
            self.leave_out(left).await?;
        }
        Ok(excess > EVICTED_MAX)
    }
}

/// Of each component that lost some, the highest count of what went.
fn left_of(gone: &[SqliteRow], what: Recording, at: Instant) -> Vec<LeftOut> {
    let counts = |of: Component| {
        let of = gone
            .iter()
            .filter(move |row| row.get::<&str, _>("component") == of.name());
        of.map(|row| row.get::<u32, _>("count")).max()
    };
    let left = |component| {
        Some(LeftOut {
            component,
            what,
            at,
            count: counts(component)?,
        })
    };
    Component::ALL.into_iter().filter_map(left).collect()
}

/// Rows come in order of lists and minutes; of two of the same minute the last is the higher.
fn add(lists: &mut Vec<Recorded>, row: &SqliteRow) {
    let (site, list): (&str, &str) = (row.get("site"), row.get("list"));
    let minute = minute(row);
    match lists.last_mut() {
        Some(last) if last.key.site == site && last.key.list == list => {
            let minutes = &mut last.minutes;
            minutes.pop_if(|before| before.starts == minute.starts);
            minutes.push(minute);
        }
        _ => lists.push(Recorded {
            key: ListKey::new(site, list),
            minutes: vec![minute],
        }),
    }
}

fn minute(row: &SqliteRow) -> Minute {
    Minute {
        starts: instant(row.get("minute_at_ms")),
        day: row.get("day"),
        count: row.get("count"),
    }
}

fn recorded(row: &SqliteRow) -> Option<FloodMinute> {
    Some(FloodMinute {
        key: key(row),
        component: component(row.get("component"))?,
        minute: minute(row),
    })
}

fn left_out(row: &SqliteRow) -> Option<LeftOut> {
    let what: &str = row.get("what");
    Some(LeftOut {
        component: component(row.get("component"))?,
        what: Recording::ALL.into_iter().find(|it| it.table().1 == what)?,
        at: instant(row.get("at_ms")),
        count: row.get("count"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::Fixture;

    const AT: u64 = 1_796_082_000_000;

    fn minute(list: &str, n: u64, count: u32) -> FloodMinute {
        FloodMinute {
            key: ListKey::new("s", list),
            component: Component::Alert,
            minute: Minute {
                starts: Instant(AT + n * 60_000),
                day: 3,
                count,
            },
        }
    }

    async fn read(store: &Store, since: u64) -> Vec<(String, Vec<(u64, u32)>)> {
        let since = Instant(AT + since * 60_000);
        let lists = store.recorded_floods(Component::Alert, since).await;
        let list = |it: Recorded| {
            let minutes = it.minutes.iter();
            let minutes = minutes.map(|it| ((it.starts.0 - AT) / 60_000, it.count));
            (it.key.list, minutes.collect())
        };
        lists.unwrap().into_iter().map(list).collect()
    }

    #[tokio::test]
    async fn the_higher_count_of_a_minute_and_the_busiest_of_a_day_are_kept() {
        let Fixture { store, .. } = &Fixture::new().await;
        for count in [30, 40, 35] {
            let minutes = [minute("a", 1, count), minute("b", 2, 10)];
            store
                .record_floods(Recording::Minutes, &minutes)
                .await
                .unwrap();
        }
        for (n, count) in [(0, 3), (1, 40), (5, 7)] {
            let peaks = [minute("a", n, count), minute("quiet", n, n as u32)];
            store.record_floods(Recording::Peaks, &peaks).await.unwrap();
        }
        let expected = [
            ("a".to_owned(), vec![(1, 40)]),
            ("b".to_owned(), vec![(2, 10)]),
            ("quiet".to_owned(), vec![(5, 5)]),
        ];
        assert_eq!(read(store, 0).await, expected);
        assert_eq!(read(store, 2).await, expected[1..]);
        let peaks = store
            .flood_peaks(&ListKey::new("s", "a"), Instant(AT))
            .await;
        assert_eq!(peaks.unwrap(), [minute("a", 1, 40)]);
        let minutes = store.flood_minutes(Instant(AT + 120_000)).await;
        assert_eq!(minutes.unwrap(), [minute("b", 2, 10)]);
    }

    #[tokio::test]
    async fn the_quietest_make_room_and_that_is_said_until_it_is_old() {
        let Fixture { store, .. } = &Fixture::new().await;
        let minutes: Vec<_> = (0..2_600)
            .map(|n| minute(&format!("{n:04}"), n, 10 + n as u32))
            .collect();
        store
            .record_floods(Recording::Minutes, &minutes)
            .await
            .unwrap();
        let now = Instant(AT + 10_000_000_000);
        let trim = |before| {
            store.trim_recorded_floods(Instant(before), now, |what| match what {
                Recording::Minutes => 50,
                Recording::Peaks => 0,
            })
        };
        trim(AT + 60_000).await.unwrap();
        let left = read(store, 0).await;
        assert_eq!((left.len(), left[0].0.as_str()), (50, "2550"));
        let left_out = LeftOut {
            component: Component::Alert,
            what: Recording::Minutes,
            at: now,
            count: 10 + 2_549,
        };
        let told = store.floods_left_out(Component::Alert).await.unwrap();
        assert_eq!(told, [left_out]);
        trim(now.0 + 1).await.unwrap();
        assert_eq!(read(store, 0).await, []);
        assert_eq!(store.floods_left_out(Component::Alert).await.unwrap(), []);
    }
}
