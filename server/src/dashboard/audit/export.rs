//! The audit log as a file of CSV: as it is asked for, newest first, written while it is read.

use axum::{
    body::Body,
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use futures_util::stream;
use http::{StatusCode, header};

use super::{Asked, at};
use crate::{
    audit::Entry,
    dashboard::{Pages, csv},
    http::Problem,
    store::{AuditQuery, Store},
};

/// The most entries of one file; filters by time make several of more.
const ENTRIES_MAX: u32 = 100_000;

/// How many are read at a time.
const PAGE: u32 = 1_000;

const COLUMNS: [&str; 12] = [
    "entry",
    "at",
    "actor_kind",
    "actor_id",
    "actor_name",
    "action",
    "subject",
    "before",
    "after",
    "reason",
    "client",
    "hash",
];

/// A file that is being written.
struct Export {
    store: Store,
    query: AuditQuery,
    left: u32,
}

pub(super) async fn export(State(pages): State<Pages>, RawQuery(query): RawQuery) -> Response {
    let asked = Asked::read(query.as_deref().unwrap_or_default());
    let query = match asked.params() {
        Ok(params) => params.query.clone(),
        Err(wrong) => {
            let title = "The query cannot be understood";
            let problem = Problem::new(StatusCode::BAD_REQUEST, "bad_query", title);
            return problem.detail(wrong.clone()).into_response();
        }
    };
    let export = Export {
        store: pages.entrance.trail.store.clone(),
        query,
        left: ENTRIES_MAX,
    };
    let head = stream::iter([Ok(csv::line(COLUMNS))]);
    // An error ends the connection early: a browser then says that the file is not whole.
    let pages = stream::try_unfold(export, |export| export.page());
    let body = Body::from_stream(futures_util::StreamExt::chain(head, pages));
    let headers = [
        (
            header::CONTENT_TYPE,
            "text/csv; charset=utf-8; header=present",
        ),
        (header::CACHE_CONTROL, "no-store"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"spillway-audit.csv\"",
        ),
    ];
    (headers, body).into_response()
}

impl Export {
    async fn page(mut self) -> Result<Option<(String, Self)>, crate::store::Error> {
        let entries = self
            .store
            .audit(&self.query, PAGE.min(self.left))
            .await
            .inspect_err(|error| {
                let error = error as &dyn std::error::Error;
                tracing::warn!(error, "an export of the audit log was cut");
            })?;
        let Some(last) = entries.last().map(|entry| entry.seq) else {
            return Ok(None);
        };
        self.query.before_seq = Some(last);
        self.left -= PAGE.min(self.left);
        Ok(Some((entries.iter().map(line).collect(), self)))
    }
}

fn line(entry: &Entry) -> String {
    let (seq, hash) = (entry.seq.to_string(), entry.hash.to_string());
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let cells = [
        seq,
        at(entry.at_ms),
        entry.actor_kind.clone(),
        entry.actor_id.clone(),
        entry.actor_name.clone(),
        entry.action.clone(),
        entry.subject.clone(),
        text(&entry.was),
        text(&entry.became),
        text(&entry.reason),
        text(&entry.client),
        hash,
    ];
    csv::line(cells.iter().map(String::as_str))
}
