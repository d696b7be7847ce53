//! One incident: what is wrong, since when, and what somebody was told of it.

use serde::{Deserialize, Serialize};
use spillway_app::live::{BreakerReason, Scope};

use super::Rules;

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// An app's or a tenant's budget lets no calls through.
    Breaker {
        /// Of which upstream.
        upstream: String,
        /// Of which workload.
        workload: String,
        /// Whose budget.
        #[serde(flatten)]
        whose: Whose,
    },
    /// Many users' budgets do not.
    Users {
        /// Of which upstream.
        upstream: String,
        /// Of which workload.
        workload: String,
    },
    /// Mail does not go out.
    Mail,
}

/// An app, or a tenant of an app.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Whose {
    /// App or tenant.
    pub scope: Scope,
    /// The app's key.
    pub app: String,
    /// The tenant's key, or empty.
    pub tenant: String,
}

/// What is known of something that is wrong now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Whether it is as bad as it gets: a breaker that is open, not one that tries again.
    pub is_full: bool,
    /// Whether an operator wants it so: that begins nothing.
    pub is_wanted: bool,
    /// Why, where it is a breaker.
    pub reason: Option<BreakerReason>,
    /// When the breaker tries again, Unix milliseconds.
    pub until_ms: Option<i64>,
    /// How often the upstream throttled although everything fitted, since all was quiet.
    pub drift: u32,
    /// How many users it stops, where it is theirs.
    pub users: u64,
    /// What was said, where it is mail.
    pub error: Option<String>,
}

/// Trouble from its beginning to when everybody who was told knows that it is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// What is wrong.
    pub subject: Subject,
    /// Since when, Unix milliseconds, as are all instants here.
    pub began_at_ms: i64,
    /// Since when it is right again, for now.
    pub right_since_ms: Option<i64>,
    /// When somebody was to be told.
    pub due_at_ms: Option<i64>,
    /// When somebody was.
    pub told_at_ms: Option<i64>,
    /// When it was over.
    pub ended_at_ms: Option<i64>,
    /// When whoever was told was told that, too.
    pub end_told_at_ms: Option<i64>,
    /// How often it came back before it was over.
    pub returns: u32,
    /// Why, where it is a breaker: the last that was known.
    pub reason: Option<BreakerReason>,
    /// When the breaker tries again.
    pub until_ms: Option<i64>,
    /// How often the upstream throttled although everything fitted, at least.
    pub drift: u32,
    /// What of it the breaker counted last.
    drift_seen: u32,
    /// Whether that made it due, before it lasted.
    #[serde(default)]
    told_for_drift: bool,
    /// The most users that it stopped at once.
    pub users_max: u64,
    /// What was said last, where it is mail.
    pub error: Option<String>,
}

impl Incident {
    pub(super) fn of(subject: Subject, began_at_ms: i64) -> Self {
        Self {
            subject,
            began_at_ms,
            right_since_ms: None,
            due_at_ms: None,
            told_at_ms: None,
            ended_at_ms: None,
            end_told_at_ms: None,
            returns: 0,
            reason: None,
            until_ms: None,
            drift: 0,
            drift_seen: 0,
            told_for_drift: false,
            users_max: 0,
            error: None,
        }
    }

    /// Whether nobody has to be told of it any more.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.ended_at_ms.is_some() && !self.is_untold()
    }

    /// Whether it is told because it came again and again, not because it lasts.
    #[must_use]
    pub fn due_by_drift(&self) -> bool {
        self.told_for_drift
    }

    /// Whether somebody has to be told something of it now.
    pub(super) fn is_untold(&self) -> bool {
        let end_is_due = self.ended_at_ms.is_some() && self.end_told_at_ms.is_none();
        self.due_at_ms.is_some() && (self.told_at_ms.is_none() || end_is_due)
    }

    pub(super) fn go_on(&mut self, now_ms: i64, trouble: Option<&Trouble>, rules: &Rules) {
        match trouble {
            Some(trouble) => self.is_wrong(now_ms, trouble, rules),
            None => self.is_right(now_ms, rules),
        }
    }

    fn is_wrong(&mut self, now_ms: i64, trouble: &Trouble, rules: &Rules) {
        let is_back = self.right_since_ms.take().is_some();
        self.returns = self.returns.saturating_add(is_back.into());
        self.learn(trouble, is_back);
        let lasts = now_ms.saturating_sub(self.began_at_ms) >= rules.tell_after_ms;
        let lasts = lasts && trouble.is_full;
        if self.due_at_ms.is_none() && (lasts || self.drift >= rules.drift_min) {
            self.due_at_ms = Some(now_ms);
            self.told_for_drift = !lasts;
        }
    }

    fn learn(&mut self, trouble: &Trouble, is_back: bool) {
        self.reason = trouble.reason.or(self.reason);
        self.until_ms = trouble.until_ms;
        self.users_max = self.users_max.max(trouble.users);
        if trouble.error.is_some() {
            self.error.clone_from(&trouble.error);
        }
        // The breaker begins to count anew once all was quiet: no more than before after it was
        // right means that it did.
        let more = match trouble.drift.checked_sub(self.drift_seen) {
            Some(more) if more > 0 || !is_back => more,
            _ => trouble.drift,
        };
        self.drift = self.drift.saturating_add(more);
        self.drift_seen = trouble.drift;
    }

    fn is_right(&mut self, now_ms: i64, rules: &Rules) {
        self.until_ms = None;
        let since = *self.right_since_ms.get_or_insert(now_ms);
        if now_ms.saturating_sub(since) >= rules.over_after_ms {
            // Nothing was wrong since then.
            self.ended_at_ms = Some(since);
        }
    }

    /// Whether writing `other` down in its place would say nothing new.
    pub(super) fn differs_not(&self, other: &Self) -> bool {
        let apart = |it: &Self| Self {
            until_ms: None,
            drift_seen: 0,
            error: None,
            ..it.clone()
        };
        apart(self) == apart(other)
    }
}
