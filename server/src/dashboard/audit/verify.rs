//! Whether the audit log is whole, looked at on request: by one at a time, and so much at once.

use std::time::Instant;

use axum::{
    extract::{Request, State},
    response::Response,
};
use jiff::Timestamp;
use spillway_app::Told;
use tokio::sync::Mutex;

use super::PATH;
use crate::{
    audit::{By, Check, Head, NotWhole},
    dashboard::{Pages, told::Sender},
    http::see_other,
    store::{AuditCheck, Store},
};

/// How many pages of 1,000 entries one request looks at; the next one goes on behind them.
const PAGES_AT_ONCE: u32 = 100;

/// A look that is under way, or was not brought to its end.
#[derive(Debug, Default)]
pub(in crate::dashboard) struct Verifier(Mutex<Option<Check>>);

pub(super) async fn verify(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let by = pages.entrance.trail.by(&parts);
    let store = &pages.entrance.trail.store;
    let told = pages.desk.verifier.verify(store, &by, Timestamp::now());
    let told = told.await;
    let sender = Sender::of(&parts);
    see_other(&pages.desk.outbox.lead(PATH, sender, told, Instant::now()))
}

impl Verifier {
    /// Looks at the log from its beginning, or goes on with it; what is to be said.
    async fn verify(&self, store: &Store, by: &By, now: Timestamp) -> Told {
        let Ok(mut kept) = self.0.try_lock() else {
            return Told::wrong(
                "Somebody has it looked at just now. Try again in a moment.".into(),
            );
        };
        match look(&mut kept, store).await {
            Ok(Ok(head)) => {
                let check = AuditCheck {
                    at_ms: now.as_millisecond(),
                    head,
                    who: by.actor.to_string(),
                };
                if store.keep_audit_check(&check).await.is_err() {
                    return Told::wrong("It is whole, but that cannot be written down.".into());
                }
                Told::done(format!(
                    "All {} entries are as they were written. The head is {head}",
                    head.seq
                ))
            }
            Ok(Err(so_far)) => Told::done(format!(
                "The first {} entries are as they were written. Verify again to go on behind them.",
                so_far.seq
            )),
            Err(NotWhole::Broken(broken)) => {
                tracing::error!(%broken, "the audit log is not as it was written");
                Told::wrong(format!("The log is not as it was written: {broken}."))
            }
            Err(not @ NotWhole::Unreadable { .. }) => {
                let error = &not as &dyn std::error::Error;
                tracing::error!(error, "the audit log cannot be verified");
                Told::wrong(format!("It cannot be verified: {not}."))
            }
        }
    }
}

/// Where all ends, or, where that was too much at once, what was looked at.
///
/// What was found last must still be there: an end that was cut off since is found.
async fn look(kept: &mut Option<Check>, store: &Store) -> Result<Result<Head, Head>, NotWhole> {
    let mut check = match kept.take() {
        Some(check) => check,
        None => Check::begin(store, noted(store).await?).await?,
    };
    let ended = check.go_on(store, PAGES_AT_ONCE).await?;
    Ok(ended.ok_or_else(|| {
        *kept = Some(check);
        check.head()
    }))
}

async fn noted(store: &Store) -> Result<Option<Head>, NotWhole> {
    let check = store.audit_check().await;
    let check = check.map_err(|source| NotWhole::Unreadable { after: 0, source })?;
    // Nothing is noted of an empty log: its head is before the first entry.
    Ok(check.map(|check| check.head).filter(|head| head.seq > 0))
}
