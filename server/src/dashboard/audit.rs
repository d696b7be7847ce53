//! The audit log as a page, as a file, and whether it is whole.

mod export;
mod verify;

use std::time::Instant;

use axum::{
    Router,
    extract::{RawQuery, Request, State},
    response::Response,
    routing::{get, post},
};
use http::StatusCode;
use jiff::Timestamp;
use spillway_app::{Audit, AuditChange, AuditEntry, AuditFilters, ChainState, Verified};

use super::{Pages, plain, told::Sender};
use crate::{
    api::{AuditParams, decoded_pairs},
    audit::{ActorKind, Change, Entry, action, changes},
    store::{self, Names, Store},
};
pub(super) use verify::Verifier;

const PATH: &str = "/audit";

/// How many changes of one act are listed; the export has all.
const CHANGES_SHOWN: usize = 100;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show))
        .route("/audit.csv", get(export::export))
        .route("/audit/verify", post(verify::verify))
}

async fn show(State(pages): State<Pages>, RawQuery(query): RawQuery, request: Request) -> Response {
    let visitor = pages.visitor(&request);
    let (parts, _) = request.into_parts();
    let told = pages
        .desk
        .outbox
        .take(query.as_deref(), &Sender::of(&parts), Instant::now());
    let asked = Asked::read(query.as_deref().unwrap_or_default());
    let store = &pages.entrance.trail.store;
    let (found, chain) = tokio::join!(found(store, &asked), chain(store));
    let (status, wrong, (entries, names)) = match found {
        Ok(found) => (StatusCode::OK, None, found),
        Err(NotFound::Unclear(wrong)) => {
            let nothing = (vec![], Names::new());
            (StatusCode::UNPROCESSABLE_ENTITY, Some(wrong), nothing)
        }
        Err(NotFound::Unreadable(error)) => {
            let text = format!("The audit log cannot be read: {error}.");
            let nothing = (vec![], Names::new());
            (StatusCode::SERVICE_UNAVAILABLE, Some(text), nothing)
        }
    };
    let shown = asked.limit as usize;
    let last = entries.get(shown.saturating_sub(1)).map(|it| it.seq);
    let older = last.filter(|_| entries.len() > shown);
    let page = Audit {
        visitor,
        older: older.map(|seq| asked.address(PATH, Some(seq))),
        newest: asked.is_later().then(|| asked.address(PATH, None)),
        export: asked.address("/audit.csv", None),
        filters: asked.filters(),
        wrong,
        entries: entries
            .into_iter()
            .take(shown)
            .map(|it| entry(it, &names))
            .collect(),
        chain,
        told,
    };
    plain(status, spillway_app::audit(&pages.options, page))
}

/// Why there are no entries.
enum NotFound {
    Unclear(String),
    Unreadable(store::Error),
}

/// What is asked for, and one more, which says whether there are older ones; and what those are
/// called whom it concerns.
async fn found(store: &Store, asked: &Asked) -> Result<(Vec<Entry>, Names), NotFound> {
    let params = asked.params.as_ref();
    let params = params.map_err(|wrong| NotFound::Unclear(wrong.clone()))?;
    let found = store.audit(&params.query, asked.limit + 1).await;
    let found = found.map_err(NotFound::Unreadable)?;
    let names = store.names(&found).await.map_err(NotFound::Unreadable)?;
    Ok((found, names))
}

/// A query as it was typed, and as it is understood.
pub(super) struct Asked {
    typed: Vec<(String, String)>,
    params: Result<AuditParams, String>,
    limit: u32,
}

impl Asked {
    /// Forms send what was left empty, too, and instants without a zone: those are UTC.
    pub(super) fn read(query: &str) -> Self {
        let pairs: Result<Vec<_>, _> = decoded_pairs(query).collect();
        let typed: Vec<_> = pairs
            .unwrap_or_default()
            .into_iter()
            .filter(|(name, value)| name != "told" && !value.is_empty())
            .collect();
        let understood = typed.iter().map(|(name, value)| {
            let is_instant = name == "from" || name == "until";
            let value = value.clone();
            (name.as_str(), if is_instant { zoned(value) } else { value })
        });
        let params = AuditParams::of(understood.map(|(name, value)| (name.to_owned(), value)));
        let limit = params.as_ref().map_or(1, |params| params.limit);
        Self {
            typed,
            params: params.map_err(|wrong| sentence(&wrong)),
            limit,
        }
    }

    /// What is to be found.
    pub(super) fn params(&self) -> Result<&AuditParams, &String> {
        self.params.as_ref()
    }

    fn is_later(&self) -> bool {
        self.typed.iter().any(|(name, _)| name == "cursor")
    }

    /// The same at `path`, from before `cursor` on.
    fn address(&self, path: &str, cursor: Option<i64>) -> String {
        let cursor = cursor.map(|seq| ("cursor".to_owned(), seq.to_string()));
        let typed = self.typed.iter().filter(|(name, _)| name != "cursor");
        let pairs: Vec<_> = typed.cloned().chain(cursor).collect();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        path.to_owned() + &spillway_app::query(&pairs)
    }

    fn filters(&self) -> AuditFilters {
        let typed = |name: &str| {
            let mut typed = self.typed.iter();
            let typed = typed.find(|(typed, _)| typed == name);
            typed.map_or_else(String::new, |(_, value)| value.clone())
        };
        AuditFilters {
            kind: typed("actor_kind"),
            actor: typed("actor"),
            action: typed("action"),
            subject: typed("subject"),
            from: unzoned(typed("from")),
            until: unzoned(typed("until")),
            kinds: ActorKind::ALL.map(ActorKind::name).to_vec(),
            actions: action::ALL.to_vec(),
        }
    }
}

/// `2026-12-01T06:00` as browsers send it, in UTC.
fn zoned(text: String) -> String {
    let utc = format!("{text}Z");
    let is_without = text.parse::<Timestamp>().is_err() && utc.parse::<Timestamp>().is_ok();
    if is_without { utc } else { text }
}

/// The same as browsers take it; what is no instant stays as it is.
fn unzoned(text: String) -> String {
    let at = zoned(text.clone()).parse::<Timestamp>();
    at.map_or(text, |at| at.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

fn sentence(text: &str) -> String {
    super::door::sentence(&text)
}

fn entry(entry: Entry, names: &Names) -> AuditEntry {
    let changes = changes(entry.was.as_deref(), entry.became.as_deref());
    let more = changes.len().saturating_sub(CHANGES_SHOWN);
    let changes = changes.into_iter().take(CHANGES_SHOWN);
    AuditEntry {
        seq: entry.seq,
        at: at(entry.at_ms),
        kind: entry.actor_kind,
        id: entry.actor_id,
        name: entry.actor_name,
        action: entry.action,
        called: names.get(&entry.subject).cloned().unwrap_or_default(),
        subject: entry.subject,
        reason: entry.reason.unwrap_or_default(),
        client: entry.client.unwrap_or_default(),
        changes: changes.map(change).collect(),
        more,
        hash: entry.hash.to_string(),
    }
}

fn change(change: Change) -> AuditChange {
    let Change { path, was, became } = change;
    AuditChange { path, was, became }
}

/// RFC 3339, to the second.
fn at(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms);
    at.map_or_else(|_| String::new(), |at| format!("{at:.0}"))
}

/// Where the log ends, and what is known of it; what cannot be read is left out, as the list
/// says so.
async fn chain(store: &Store) -> ChainState {
    let (head, check) = tokio::join!(store.audit_head(), store.audit_check());
    let Ok(head) = head else {
        return ChainState::default();
    };
    let check = check.ok().flatten();
    ChainState {
        entries: head.seq,
        head: head.to_string(),
        verified: check.map(|check| Verified {
            seq: check.head.seq,
            at: at(check.at_ms),
            who: check.who,
        }),
        why_not: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_form_sends_is_understood_and_shown_again_as_it_was_typed() {
        let asked = Asked::read(
            "actor=&actor_kind=token&action=token.&subject=a%26b&from=2026-12-01T06:00&told=1&cursor=9",
        );
        let params = asked.params().unwrap();
        assert_eq!(params.query.actor, None);
        assert_eq!(params.query.from_ms, Some(1_796_104_800_000));
        assert_eq!(params.query.before_seq, Some(9));
        assert_eq!(asked.filters().from, "2026-12-01T06:00:00");
        assert_eq!(
            asked.address(PATH, Some(3)),
            "/audit?actor_kind=token&action=token.&subject=a%26b&from=2026-12-01T06%3A00&cursor=3"
        );
        assert!(asked.is_later());
        assert!(!asked.address(PATH, None).contains("cursor"));
    }

    #[test]
    fn what_is_wrong_is_said_and_kept() {
        let asked = Asked::read("from=yesterday&subject=x");
        let wrong = asked.params().unwrap_err();
        assert!(wrong.starts_with("From must be an instant"), "{wrong}");
        assert_eq!(asked.filters().from, "yesterday");
        assert_eq!(asked.filters().subject, "x");
    }
}
