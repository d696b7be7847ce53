//! What an operator orders: allowed, done, and audited. Routes of the API and forms of the dashboard
//! come down to this.

use http::StatusCode;
use serde_json::Value;
use spillway::{Key, Whose};

use super::super::{Api, named};
use super::asked::Wish;
use crate::{
    access::Caller,
    audit::{Act, By},
    http::Problem,
    limiter::{Limiter, Note},
    store::NotAudited,
};

/// Who wishes what, and of which limits.
pub(crate) struct Order {
    pub(crate) api: Api,
    pub(crate) caller: Caller,
    pub(crate) by: By,
    /// A name in the configuration.
    pub(crate) upstream: String,
    /// One of its workloads, or `_global`; empty where background calls are meant.
    pub(crate) workload: String,
    pub(crate) wish: Wish,
}

/// How something was, and how it is since.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Steered<T> {
    pub(crate) was: T,
    pub(crate) now: T,
}

/// What is done, as the audit log calls it.
pub(super) struct Steering<'a> {
    pub(super) action: &'static str,
    pub(super) subject: String,
    pub(super) reason: &'a str,
}

/// What has been done: as the audit log shows it, and as it is handed on.
pub(super) struct Done<T> {
    pub(super) was: Option<Value>,
    pub(super) became: Option<Value>,
    pub(super) answer: T,
}

impl Order {
    /// Whose background calls are meant, and who limits them.
    ///
    /// # Errors
    /// There is nothing of that name, or it is not the caller's to steer.
    pub(super) fn lane(&self) -> Result<(&Limiter, Whose), Problem> {
        let limiter = self.limiter()?;
        let whose = self.wish.whose(limiter)?;
        self.caller.may_steer(whose.app())?;
        Ok((limiter, whose))
    }

    /// The budget whose breaker is meant, and who limits by it.
    ///
    /// # Errors
    /// There is nothing of that name, or it is not the caller's to steer.
    pub(super) fn budget(&self) -> Result<(&Limiter, Key), Problem> {
        let limiter = self.limiter()?;
        let index = named::workload(limiter, &self.workload)?;
        let key = self.wish.budget(limiter, index)?;
        self.caller.may_steer(Some(&key.app))?;
        Ok((limiter, key))
    }

    /// Who asks, and why, as it is shown beside what is in force.
    ///
    /// # Errors
    /// No reason is given.
    pub(super) fn note(&self) -> Result<Note, Problem> {
        Ok(Note {
            who: self.by.actor.to_string(),
            reason: self.wish.reason()?.to_owned(),
            at_ms: self.now_ms(),
        })
    }

    fn now_ms(&self) -> i64 {
        self.api.limiters.clock().wall_now().as_millisecond()
    }

    /// Does what is asked, and audits it.
    ///
    /// # Errors
    /// It was not done, or it was and cannot be audited any more: the problem says which.
    pub(super) async fn steer<T>(
        &self,
        steering: Steering<'_>,
        act: impl FnOnce() -> Result<Done<T>, Problem>,
    ) -> Result<T, Problem> {
        let Steering {
            action,
            subject,
            reason,
        } = steering;
        let at_ms = self.now_ms();
        let by = self.by.clone().because(reason);
        let done = self.api.trail.store.audited(|| {
            let done = act()?;
            let audited = Act::new(at_ms, &by, action, subject);
            let audited = audited.was(done.was).became(done.became);
            Ok((done.answer, audited))
        });
        done.await.map_err(not_audited)
    }

    fn limiter(&self) -> Result<&Limiter, Problem> {
        self.caller.may_use(&self.upstream)?;
        named::upstream(self.api.limiters.all(), &self.upstream)
    }
}

/// The answer where the audit log could not be written.
fn not_audited(not: NotAudited<Problem>) -> Problem {
    let detail = not.to_string();
    let title = match not {
        NotAudited::NotDone(problem) => return problem,
        NotAudited::Unwritable(_) => "It was not done: it cannot be written down",
        NotAudited::Lost(_) => "It is in force, but not in the audit log",
    };
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).detail(detail)
}
