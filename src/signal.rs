//! What an upstream's answer says about the limits it met: the one lenient reader of it.
//!
//! Vendors document these signals poorly and send them in many shapes, so nothing here can
//! fail: whatever cannot be read counts as not sent, every number is bounded, and no byte
//! of an answer ends the process. The same function reads an answer of its own and one part
//! of a `$batch` answer, since each part has a status, headers and a body too.
//!
//! Two kinds of trouble are told apart, because different things help: *throttling* says
//! that a budget is spent and concerns whoever it belongs to; an *outage* says that nobody
//! gets an answer. Everything else, be it 200, 401 or 404, proves that the upstream works
//! and lets calls through.
//!
//! A body's error code is more exact than its status and goes first: `OneNote` throttles
//! with code 20166 under other statuses than 429, and Notion blocks for good under 429.

mod body;
mod date;
mod number;
mod quota;
mod retry_after;
mod scope;

use crate::call::Scope;

/// The longest wait that is believed, in milliseconds: 24 hours. A longer one is a date or
/// a number gone wrong, and would stop a budget for years.
pub const WAIT_MS_MAX: u64 = 86_400_000;

/// How much of a body is looked at, in bytes from its beginning: 64 KiB. Error bodies of
/// Microsoft Graph and Notion are below 1 KiB.
pub const BODY_BYTES_MAX: usize = 65_536;

/// The status from which bodies are looked at; below it a body is content.
const ERROR_STATUS_MIN: u16 = 400;

/// An upstream's answer, or one part of a `$batch` answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Its status.
    pub status: u16,
    /// Its headers, in any order; names in any case, a name as often as it was sent.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The beginning of its body without content encoding. Only looked at from status 400
    /// up, and only the first [`BODY_BYTES_MAX`]; it may be cut anywhere, or empty.
    pub body: &'a [u8],
    /// The wall-clock time of its arrival, in milliseconds since the Unix epoch: a
    /// `Retry-After` may be a date.
    pub unix_ms: u64,
}

/// What an answer says about the limits it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// What happened to the call.
    pub verdict: Verdict,
    /// How long to stay away, in milliseconds, rounded up, 1 to [`WAIT_MS_MAX`]; the
    /// longest where several are given.
    ///
    /// None if the answer gives none that lies ahead (`OneNote` never does; "", 0, -5 and
    /// past dates occur), and for answers that are neither throttled nor an outage: there
    /// the header speaks of other things, such as when to poll after a 202.
    pub retry_after_ms: Option<u64>,
    /// Whose budgets `x-ms-throttle-scope` names. Never empty.
    pub named: Option<Named>,
    /// How much of a limit is used, in per mille, rounded down, 0 to 10,000:
    /// `x-ms-throttle-limit-percentage`, which counts 1.0 as the whole limit.
    pub percentage_permille: Option<u32>,
    /// What `RateLimit-Remaining` or `RateLimit` leave.
    pub remaining: Option<Remaining>,
    /// What the call has cost in the upstream's own count, 1 to 1,000: `x-ms-resource-unit`.
    pub charged_units: Option<u32>,
    /// Whether the upstream did not know the caller (401): the call cost its user nothing.
    pub unauthorized: bool,
}

/// What happened to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It was answered, for better or worse: neither throttled nor an outage nor final.
    Passed,
    /// A limit stopped it: 429, 529 (Notion's overload), 503 with a `Retry-After`, or
    /// `OneNote`'s code 20166 under any status from 400 up.
    Throttled,
    /// Nobody answered for the upstream: 502, 504, or 503 without a `Retry-After`.
    Outage,
    /// It will never pass: 403, `OneNote`'s code 10008 (more than 5,000 items), or Notion's
    /// `public_api_request_blocked`. Waiting does not help, so no budget closes for it.
    Final,
}

/// The budgets that an answer names, at least one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Named {
    /// The user's.
    pub user: bool,
    /// That of the app within the tenant.
    pub tenant: bool,
    /// The app's.
    pub app: bool,
}

impl Named {
    /// Whether the budget of `scope` is among them.
    #[must_use]
    pub const fn names(self, scope: Scope) -> bool {
        match scope {
            Scope::User => self.user,
            Scope::Tenant => self.tenant,
            Scope::App => self.app,
        }
    }
}

/// What is left of a limit in the upstream's own count; the scarcest where several are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Remaining {
    /// How much more may be spent before the limit resets, in the limit's unit.
    pub remaining: u64,
    /// The whole limit, if told beside it: limit - remaining is used.
    pub limit: Option<u64>,
    /// When it resets, in milliseconds from the answer, 0 to [`WAIT_MS_MAX`].
    pub reset_ms: Option<u64>,
}

impl Remaining {
    /// How much of a layer of `limit` must count as used, so that what the upstream leaves is
    /// not exceeded; 0 to `limit`. The layer's own limit counts, not the one told: where they
    /// differ, what is left is what matters.
    #[must_use]
    pub fn used_of(self, limit: u32) -> u32 {
        limit.saturating_sub(u32::try_from(self.remaining).unwrap_or(u32::MAX))
    }
}

/// Reads what `answer` says about limits. Never fails and never panics: what cannot be read
/// counts as not sent.
#[must_use]
pub fn read(answer: &Answer<'_>) -> Signal {
    let verdict = verdict(answer);
    let waits = matches!(verdict, Verdict::Throttled | Verdict::Outage);
    Signal {
        verdict,
        retry_after_ms: waits.then(|| retry_after::wait_ms(answer)).flatten(),
        named: scope::named(answer),
        percentage_permille: quota::percentage_permille(answer),
        remaining: quota::remaining(answer),
        charged_units: quota::charged_units(answer),
        unauthorized: answer.status == UNAUTHORIZED,
    }
}

const UNAUTHORIZED: u16 = 401;

fn verdict(answer: &Answer<'_>) -> Verdict {
    let code = (answer.status >= ERROR_STATUS_MIN)
        .then(|| body::code(answer.body))
        .flatten();
    match code {
        Some(body::Code::Throttled) => Verdict::Throttled,
        Some(body::Code::Final) => Verdict::Final,
        None => verdict_of_status(answer),
    }
}

/// For a 503 the header's presence counts, whatever its value: who writes it expects to be back.
fn verdict_of_status(answer: &Answer<'_>) -> Verdict {
    match answer.status {
        429 | 529 => Verdict::Throttled,
        503 if retry_after::is_present(answer) => Verdict::Throttled,
        502..=504 => Verdict::Outage,
        403 => Verdict::Final,
        _ => Verdict::Passed,
    }
}

impl<'a> Answer<'a> {
    /// The values of all headers of this name, without surrounding white space.
    fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim_ascii())
    }
}
