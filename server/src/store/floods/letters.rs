//! Letters to the admins of sites: owed in the transaction of the disablement that they tell of,
//! so that neither is there without the other.

use spillway::flood::{Component, ListKey};
use sqlx::Row;

use super::{Strike, component, stored_site};
use crate::{
    floods::{Site, letters},
    store::{
        Error, NewMessage, OWED_MAX, Store, StoredMessage,
        outbox::{self, COLUMNS},
        write::Write,
    },
};

/// A letter about a list, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodLetter {
    /// Which component was disabled.
    pub component: Component,
    /// The letter.
    pub message: StoredMessage,
}

impl Store {
    /// The letters about a list that are kept, newest first, at most `limit`.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn flood_letters(
        &self,
        list: &ListKey,
        limit: u32,
    ) -> Result<Vec<FloodLetter>, Error> {
        let statement = format!(
            "SELECT component, {COLUMNS} FROM flood_letters JOIN outbox ON id = outbox_id
             WHERE site = ? AND list = ? ORDER BY outbox_id DESC LIMIT ?"
        );
        let rows = sqlx::query(&statement)
            .bind(&list.site)
            .bind(&list.list)
            .bind(limit)
            .fetch_all(&self.pool)
            .await;
        let rows = rows.map_err(Error::on("read the letters about a list"))?;
        let letters = rows.into_iter().filter_map(|row| {
            let component = component(row.get("component"))?;
            let message = outbox::stored(row);
            Some(FloodLetter { component, message })
        });
        Ok(letters.collect())
    }
}

impl Write {
    /// Owes each admin of the site a letter about a strike that disables; nobody where nobody has
    /// told of the site.
    pub(super) async fn owe_letters(&mut self, strike: &Strike) -> Result<(), Error> {
        let Some(site) = self.site(&strike.site).await? else {
            return Ok(());
        };
        for letter in letters(strike, &site) {
            self.owe_letter(strike, &letter).await?;
        }
        Ok(())
    }

    async fn site(&mut self, site: &str) -> Result<Option<Site>, Error> {
        let failed = self.failed();
        let found = sqlx::query("SELECT * FROM sites WHERE site = ?").bind(site);
        let found = found.fetch_optional(self.connection()).await;
        Ok(found.map_err(failed)?.as_ref().map(stored_site))
    }

    /// What would be owed beyond the bound is written down as given up: a full outbox costs its
    /// letter, never the disablement, and people see whom it did not reach.
    async fn owe_letter(&mut self, strike: &Strike, letter: &NewMessage) -> Result<(), Error> {
        let failed = self.failed();
        let owed = outbox::count_owed(self.connection())
            .await
            .map_err(failed)?;
        let at_ms = strike.wall_ms;
        let Some(id) = outbox::insert(self, letter, at_ms, Default::default()).await? else {
            return Ok(());
        };
        let failed = self.failed();
        sqlx::query(
            "INSERT INTO flood_letters (outbox_id, site, list, component) VALUES (?, ?, ?, ?)",
        )
        .bind(id)
        .bind(&strike.site)
        .bind(&strike.list)
        .bind(strike.component.name())
        .execute(self.connection())
        .await
        .map_err(failed)?;
        if owed < i64::from(OWED_MAX) {
            return Ok(());
        }
        tracing::error!(
            owed,
            site = strike.site,
            list = strike.list,
            "the outbox is full: somebody is not told that a list is disabled"
        );
        let error = format!("not sent: {OWED_MAX} messages were owed already, as many as may be");
        outbox::give_up(self, id, &error, at_ms).await
    }
}

#[cfg(test)]
mod tests;
