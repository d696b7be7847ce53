//! Limits as they are changed: checked, versioned in the database, audited, put in force.
//!
//! The API ([`Policies`]) and the command line ([`command`]) change the same rows. What one
//! process appends, a running server takes up: it asks each [`RELOAD_EVERY`] whether there are
//! more versions than it knows.

pub mod args;
mod command;
mod compare;
mod document;
mod export;
mod import;
mod reload;
pub mod words;

use std::sync::Arc;

use spillway::Policy;
use tokio::sync::Semaphore;

pub use args::PolicyArgs;
pub use command::{Error, run};
pub use compare::{Difference, differences};
pub use document::{
    Document, Mistake, Scopes, WrittenBreakers, WrittenDimension, WrittenLayer, WrittenOverride,
    WrittenOwnLimit, WrittenScope,
};
pub use reload::RELOAD_EVERY;

use crate::{
    audit::{By, action},
    config::GLOBAL,
    limiter::{Limiter, Limiters, Preview, WorkloadIndex},
    store::{self, NewPolicy, PolicyPlace, Store, StoredPolicy},
};

/// The policies of a running server. Clones share them.
#[derive(Clone, Debug)]
pub struct Policies {
    store: Store,
    limiters: Arc<Limiters>,
    /// Whether the configuration file rules: then nothing here changes anything.
    file_rules: bool,
    /// One preview at a time: each keeps a core busy.
    previews: Arc<Semaphore>,
}

/// A workload that has limits.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Who enforces them.
    pub limiter: &'a Limiter,
    /// Which of its workloads.
    pub workload: WorkloadIndex,
    /// The workload's name.
    pub name: &'a str,
}

/// Why limits were not changed.
#[derive(Debug, thiserror::Error)]
pub enum NotChanged {
    /// The file rules.
    #[error(
        "server.policy_source is \"file\": the limits are those of the configuration; change them \
         there and restart"
    )]
    FileRules,
    /// There is no such version.
    #[error("there is no version {0}")]
    NoSuchVersion(i64),
    /// They cannot be written down.
    #[error("these limits cannot be written down")]
    Written(#[from] serde_json::Error),
    /// The database has it otherwise, or failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Somebody else has limits tried just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("somebody else has limits tried just now; come again in a moment")]
pub struct Busy;

/// How a version was arrived at, and from which one.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    /// The version that was looked at, which must still be the newest.
    pub base: i64,
    /// Who, from where and why.
    pub by: &'a By,
    /// When, Unix milliseconds.
    pub at_ms: i64,
}

impl Place<'_> {
    /// Whose limits may be among its layers.
    #[must_use]
    pub fn scopes(&self) -> Scopes {
        scopes(self.name)
    }

    fn stored(&self) -> PolicyPlace<'_> {
        PolicyPlace {
            upstream: self.limiter.name(),
            workload: self.name,
        }
    }
}

/// Whose limits may be among those of this workload.
#[must_use]
pub fn scopes(workload: &str) -> Scopes {
    if workload == GLOBAL {
        Scopes::App
    } else {
        Scopes::All
    }
}

impl Policies {
    /// Those of `store`, enforced by `limiters`.
    #[must_use]
    pub fn new(store: Store, limiters: Arc<Limiters>, file_rules: bool) -> Self {
        Self {
            store,
            limiters,
            file_rules,
            previews: Arc::new(Semaphore::new(1)),
        }
    }

    /// All workloads that have limits, in the configuration's order.
    pub fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.limiters.all().iter().flat_map(|limiter| {
            let limited = limiter.limited().enumerate();
            limited.map(move |(workload, name)| Place {
                limiter,
                workload,
                name,
            })
        })
    }

    /// The workload of this name, if there is one.
    #[must_use]
    pub fn place(&self, upstream: &str, workload: &str) -> Option<Place<'_>> {
        let mut places = self.places();
        places.find(|place| place.limiter.name() == upstream && place.name == workload)
    }

    /// The wall clock's time, Unix milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.limiters.clock().wall_now().as_millisecond()
    }

    /// Whether they can be changed here.
    #[must_use]
    pub const fn are_editable(&self) -> bool {
        !self.file_rules
    }

    /// The newest version; `None`: there never was one.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn newest(&self, place: &Place<'_>) -> Result<Option<StoredPolicy>, store::Error> {
        self.store.policy(place.stored()).await
    }

    /// One version.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn version(
        &self,
        place: &Place<'_>,
        version: i64,
    ) -> Result<Option<StoredPolicy>, store::Error> {
        self.store.policy_version(place.stored(), version).await
    }

    /// The newest versions before `before`, newest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn versions(
        &self,
        place: &Place<'_>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredPolicy>, store::Error> {
        let place = place.stored();
        self.store.policy_versions(place, before, limit).await
    }

    /// What `policy` would have done to the calls of the last quarter of an hour.
    ///
    /// # Errors
    /// Somebody else asks that just now.
    pub async fn preview(&self, place: &Place<'_>, policy: Policy) -> Result<Preview, Busy> {
        let turn = Arc::clone(&self.previews).try_acquire_owned();
        let turn = turn.map_err(|_| Busy)?;
        let (limiter, workload) = (place.limiter.clone(), place.workload);
        let preview = tokio::task::spawn_blocking(move || {
            let preview = limiter.preview(workload, &policy);
            drop(turn);
            preview
        });
        // It does not panic, and nobody aborts it.
        preview.await.map_err(|_| Busy)
    }

    /// Makes `policy` the newest version and puts it in force, before this returns. Where it is
    /// what the newest version says already, nothing changes.
    ///
    /// # Errors
    /// See [`NotChanged`]; [`store::Error::Conflict`] where somebody was first.
    pub async fn change(
        &self,
        place: &Place<'_>,
        policy: &Policy,
        edit: Edit<'_>,
    ) -> Result<StoredPolicy, NotChanged> {
        let document = serde_json::to_string(policy)?;
        self.append(place, &document, edit, action::POLICY_CHANGE)
            .await
    }

    /// Makes an old version the newest, and puts it in force before this returns.
    ///
    /// # Errors
    /// As [`Policies::change`].
    pub async fn roll_back(
        &self,
        place: &Place<'_>,
        to: i64,
        edit: Edit<'_>,
    ) -> Result<StoredPolicy, NotChanged> {
        let old = self.version(place, to).await?;
        let old = old.ok_or(NotChanged::NoSuchVersion(to))?;
        self.append(place, &old.document, edit, action::POLICY_ROLLBACK)
            .await
    }

    async fn append(
        &self,
        place: &Place<'_>,
        document: &str,
        edit: Edit<'_>,
        action: &'static str,
    ) -> Result<StoredPolicy, NotChanged> {
        if self.file_rules {
            return Err(NotChanged::FileRules);
        }
        let new = NewPolicy {
            place: place.stored(),
            base: edit.base,
            document,
            action,
        };
        let mut stored = self
            .store
            .change_policies(&[new], edit.by, edit.at_ms)
            .await?;
        self.take_up(place.limiter, place.workload, stored.first())
            .await;
        // One was asked for, and one comes back.
        stored.pop().ok_or(NotChanged::NoSuchVersion(edit.base))
    }
}
