//! Users of a workload by name and by trouble, a page at a time.

use spillway::{Found, Trouble, Wanted};
use spillway_app::live;

use super::{
    Inner, Limiter, WorkloadIndex,
    view::{BadCursor, parse_cursor, written_cursor},
};

/// How many positions are looked at while a shard is locked: a fraction of a millisecond.
const STEPS: usize = 1_024;

/// Which users are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserSearch {
    /// What is in the key of the user, the tenant or the app; empty: anything.
    pub text: String,
    /// In which trouble they are.
    pub trouble: Trouble,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// At most so many.
    pub max: usize,
}

/// A page of users.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserPage {
    /// They, most trouble first.
    pub users: Vec<live::Budget>,
    /// How many there are on all pages.
    pub matched: u64,
    /// How many users the workload has.
    pub total: u64,
    /// Where the next page begins; `None`: this is the last.
    pub next_cursor: Option<String>,
}

impl Limiter {
    /// A page of a workload's users. Takes its time: not for tasks that others wait for.
    ///
    /// # Errors
    /// The cursor is none that a page gave out.
    pub fn find_users(
        &self,
        workload: WorkloadIndex,
        search: &UserSearch,
    ) -> Result<UserPage, BadCursor> {
        let wanted = Wanted {
            workload,
            text: search.text.clone(),
            trouble: search.trouble,
            after: search.cursor.as_deref().map(parse_cursor).transpose()?,
            max: search.max,
        };
        let found = self.inner.find(&wanted);
        Ok(UserPage {
            users: found.users().map(|it| self.inner.shown(it)).collect(),
            matched: found.matched,
            total: found.users,
            next_cursor: found.cursor(search.max).as_ref().and_then(written_cursor),
        })
    }
}

impl Inner {
    fn find(&self, wanted: &Wanted) -> Found {
        let mut found = Found::default();
        for shard in self.shards.indices() {
            let mut next = Some(0);
            while let Some(from) = next {
                let mut core = self.shards.lock(shard);
                let now = self.clock.now();
                next = core.engine.find_more(wanted, &mut found, now, from, STEPS);
            }
        }
        found
    }
}
