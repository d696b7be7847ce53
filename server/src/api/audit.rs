//! `GET /api/v1/audit`: who did what, newest first, a page at a time.

use axum::{
    Extension, Json,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{
    Api,
    query::{bad, once, pairs, unknown},
};
use crate::{
    access::Caller,
    audit::{ActorKind, Entry},
    http::Problem,
    store::{self, AuditQuery},
};

/// The most entries of one page.
const ENTRIES_MAX: u32 = 1_000;

/// As many, where nothing is said.
const ENTRIES_SHOWN: u32 = 50;

/// The longest filter, in bytes: longer than anything that it could find.
const FILTER_BYTES_MAX: usize = 1_024;

const KNOWN: &str = "actor_kind, actor, action, subject, from, until, cursor, limit";

/// What is asked for, understood.
#[derive(Debug, PartialEq)]
pub(crate) struct Params {
    /// Which entries.
    pub(crate) query: AuditQuery,
    /// How many.
    pub(crate) limit: u32,
}

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditPage)]
struct Page {
    /// Newest first.
    entries: Vec<Shown>,
    /// Where the next page begins; left out: this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Where the log ends: the last entry's number and hash, `12:9f…`. Keep it elsewhere;
    /// `spillway audit verify --head` then finds that the end was cut off.
    head: String,
}

/// Who did what. Texts are as they were given: show them as text, never as markup.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
struct Shown {
    /// From 1 upwards, without gaps.
    #[schema(minimum = 1)]
    seq: i64,
    #[schema(format = DateTime)]
    at: String,
    actor: ShownActor,
    /// What was done: dotted, and always the same for the same act.
    #[schema(example = "lane.pause")]
    action: String,
    /// To what.
    #[schema(example = "lane:graph/background")]
    subject: String,
    /// How it was; left out: there was nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    before: Option<Box<RawValue>>,
    /// How it is since; left out: there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    after: Option<Box<RawValue>>,
    /// In the actor's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The address that it was asked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// SHA-256 of the entry and of the hash before it.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    hash: String,
}

/// Who acted.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditActor)]
struct ShownActor {
    #[schema(value_type = ActorKind)]
    kind: String,
    /// What tells it from all others of its kind; empty where nothing does.
    id: String,
    /// What people called it then.
    name: String,
}

/// Read the audit log
///
/// Who did what, newest first. It takes a token that is not bound to upstreams.
#[utoipa::path(
    get,
    path = "/api/v1/audit",
    tag = "audit",
    operation_id = "getAudit",
    params(
        ("actor_kind" = Option<ActorKind>, Query, description = "Acts of such actors alone"),
        ("actor" = Option<String>, Query, max_length = 1_024, description = "Acts of whom has this id or this name"),
        ("action" = Option<String>, Query, max_length = 64, description = "Acts whose name begins so", example = "token."),
        ("subject" = Option<String>, Query, max_length = 1_024, description = "Acts on this", example = "policy:graph/onenote"),
        ("from" = Option<String>, Query, format = DateTime, description = "Acts at or after this instant, RFC 3339"),
        ("until" = Option<String>, Query, format = DateTime, description = "Acts before this instant, RFC 3339"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
        (
            "limit" = Option<u16>, Query, minimum = 1, maximum = 1_000,
            description = "The most entries; left out: 50"
        ),
    ),
    responses(
        (status = 200, description = "A page of it", body = Page),
        (status = 503, description = "`storage`: the audit log cannot be read"),
    )
)]
pub(super) async fn get(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    caller.may_see_all()?;
    let Params { query, limit } = Params::read(&query.unwrap_or_default()).map_err(bad)?;
    let store = &api.trail.store;
    // One more says whether there is a next page.
    let mut entries = store.audit(&query, limit + 1).await.map_err(unreadable)?;
    let head = store.audit_head().await.map_err(unreadable)?;
    let more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    let last = entries.last().filter(|_| more);
    let page = Page {
        next_cursor: last.map(|entry| entry.seq.to_string()),
        entries: entries.into_iter().map(shown).collect(),
        head: head.to_string(),
    };
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(page)).into_response())
}

impl Params {
    fn read(query: &str) -> Result<Self, String> {
        let pairs: Result<Vec<_>, _> = pairs(query).collect();
        Self::of(pairs?)
    }

    /// What these names and values ask for.
    ///
    /// # Errors
    /// What is wrong with the first that cannot be understood.
    pub(crate) fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, String> {
        let (mut read, mut limit) = (AuditQuery::default(), None);
        for (name, value) in pairs {
            if value.len() > FILTER_BYTES_MAX {
                return Err(format!("{name} must have at most {FILTER_BYTES_MAX} bytes"));
            }
            match name.as_str() {
                "actor_kind" => once(&mut read.actor_kind, &name, kind(&value)?),
                "actor" => once(&mut read.actor, &name, value),
                "action" => once(&mut read.action, &name, action(value)?),
                "subject" => once(&mut read.subject, &name, value),
                "from" => once(&mut read.from_ms, &name, instant(&name, &value)?),
                "until" => once(&mut read.until_ms, &name, instant(&name, &value)?),
                "cursor" => once(&mut read.before_seq, &name, cursor(&value)?),
                "limit" => once(&mut limit, &name, number(&value)?),
                _ => Err(unknown(&name, KNOWN)),
            }?;
        }
        Ok(Self {
            query: read,
            limit: limit.unwrap_or(ENTRIES_SHOWN),
        })
    }
}

fn kind(value: &str) -> Result<ActorKind, String> {
    let mut kinds = ActorKind::ALL.into_iter();
    kinds.find(|kind| kind.name() == value).ok_or_else(|| {
        let known = ActorKind::ALL.map(ActorKind::name).join(", ");
        format!("actor_kind must be one of {known}")
    })
}

fn action(value: String) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'.' || byte == b'_';
    if value.bytes().all(is_plain) {
        return Ok(value);
    }
    Err("action must be small letters, dots and underscores, like token.".to_owned())
}

fn instant(name: &str, value: &str) -> Result<i64, String> {
    let at = value.parse::<Timestamp>();
    at.map(Timestamp::as_millisecond)
        .map_err(|_| format!("{name} must be an instant of RFC 3339, like 2026-12-01T06:00:00Z"))
}

fn cursor(value: &str) -> Result<i64, String> {
    let seq = value.parse().ok().filter(|seq| *seq > 0);
    seq.ok_or_else(|| "the cursor is none that a page of the audit log gave out".to_owned())
}

fn number(value: &str) -> Result<u32, String> {
    let number = value.parse().ok();
    number
        .filter(|number| (1..=ENTRIES_MAX).contains(number))
        .ok_or_else(|| format!("limit must be a whole number from 1 to {ENTRIES_MAX}"))
}

fn shown(entry: Entry) -> Shown {
    let at = Timestamp::from_millisecond(entry.at_ms);
    // What is no JSON was written by somebody else; it is shown as the text that it is.
    let json = |text: String| {
        RawValue::from_string(text.clone())
            .or_else(|_| serde_json::value::to_raw_value(&text))
            .ok()
    };
    Shown {
        seq: entry.seq,
        at: at.map_or_else(|_| String::new(), |at| format!("{at:.3}")),
        actor: ShownActor {
            kind: entry.actor_kind,
            id: entry.actor_id,
            name: entry.actor_name,
        },
        action: entry.action,
        subject: entry.subject,
        before: entry.was.and_then(json),
        after: entry.became.and_then(json),
        reason: entry.reason,
        client: entry.client,
        hash: entry.hash.to_string(),
    }
}

fn unreadable(error: store::Error) -> Problem {
    let title = "The audit log cannot be read";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_strictly() {
        let read = Params::read(
            "actor_kind=token&actor=br%C3%BCcke&action=token.&subject=token%3Aab\
             &from=2026-12-01T06:00:00Z&until=2026-12-01T07:00:00%2B01:00&cursor=7&limit=1000",
        );
        let at_ms = 1_796_104_800_000;
        let query = AuditQuery {
            actor_kind: Some(ActorKind::Token),
            actor: Some("brücke".to_owned()),
            action: Some("token.".to_owned()),
            subject: Some("token:ab".to_owned()),
            from_ms: Some(at_ms),
            until_ms: Some(at_ms),
            before_seq: Some(7),
        };
        let limit = 1_000;
        assert_eq!(read, Ok(Params { query, limit }));
        assert_eq!(Params::read("").unwrap().limit, 50);
        for (query, expected) in [
            ("limit=0", "limit must be"),
            ("limit=1001", "limit must be"),
            ("cursor=-1", "the cursor is none"),
            ("cursor=x", "the cursor is none"),
            ("from=today", "from must be an instant"),
            ("action=token%25", "action must be"),
            (
                "actor_kind=root",
                "actor_kind must be one of account, token",
            ),
            ("actor=a&actor=b", "actor is given twice"),
            ("user=a", "there is no parameter \"user\""),
        ] {
            let error = Params::read(query).unwrap_err();
            assert!(error.starts_with(expected), "{query}: {error}");
        }
    }
}
