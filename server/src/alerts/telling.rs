//! From what is told to the messages that tell it: one for each recipient, instead of those that
//! it still waits for.

use std::collections::BTreeMap;

use super::{
    Recipient, TOPIC, Told,
    hook::hook,
    incident::{Incident, Step, Subject},
    words::words,
};
use crate::store::{self, Kind, NewMessage, Replacement, Store, StoredIncident, StoredMessage};

/// How often somebody's message may come to be sent while it is replaced, before it waits for the
/// next look.
const TRIES_MAX: usize = 3;

/// Writes down what a step comes to, and owes the messages that tell of it; whether it is done.
/// What somebody was not told yet is told together with it.
///
/// # Errors
/// The database does not answer, or cannot be written.
pub async fn keep(
    store: &Store,
    step: &Step,
    told: &Told,
    now_ms: i64,
) -> Result<bool, store::Error> {
    if step.changed.is_empty() && step.told.is_empty() {
        return Ok(true);
    }
    let changed: Vec<_> = step.changed.iter().map(stored).collect();
    for _ in 0..TRIES_MAX {
        let waiting = match step.told.is_empty() {
            true => Vec::new(),
            false => store.waiting(TOPIC).await?,
        };
        let recipients = told.recipients.iter();
        let messages = recipients.filter_map(|to| message(step, to, &waiting, &told.link, now_ms));
        let messages: Vec<_> = messages.collect();
        if store.keep_incidents(&changed, &messages, now_ms).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a recipient is told, instead of what it still waits for.
fn message(
    step: &Step,
    to: &Recipient,
    waiting: &[StoredMessage],
    link: &str,
    now_ms: i64,
) -> Option<Replacement> {
    // That mail does not go out is nothing that a mail could tell.
    let concerns = |it: &&Incident| to.kind != Kind::Mail || it.subject != Subject::Mail;
    let new: Vec<_> = step.told.iter().filter(concerns).collect();
    if new.is_empty() {
        return None;
    }
    let waiting = waiting
        .iter()
        .filter(|it| it.kind == to.kind && it.recipient == to.name);
    let instead_of: Vec<_> = waiting.cloned().collect();
    let told = together(&instead_of, &new);
    let words = words(&told, link);
    Some(Replacement {
        message: NewMessage {
            kind: to.kind,
            recipient: to.name.clone(),
            topic: TOPIC,
            dedupe: format!("incidents:{now_ms}"),
            body: match to.kind {
                Kind::Mail => words.text.clone(),
                Kind::Webhook => hook(&told, &words, link, now_ms),
            },
            html: (to.kind == Kind::Mail).then(|| words.html.clone()),
            subject: words.subject,
            // Plain structs of strings and numbers: they can always be written.
            payload: serde_json::to_string(&told).ok(),
        },
        instead_of,
    })
}

/// What the older messages would have said, each incident as it is known last.
fn together(older: &[StoredMessage], new: &[&Incident]) -> Vec<Incident> {
    let older = older
        .iter()
        .filter_map(|message| message.payload.as_deref());
    let older = older.filter_map(|json| serde_json::from_str::<Vec<Incident>>(json).ok());
    let all = older.flatten().chain(new.iter().map(|it| (*it).clone()));
    let all = all.map(|it| ((it.began_at_ms, it.subject.clone()), it));
    all.collect::<BTreeMap<_, _>>().into_values().collect()
}

fn stored(incident: &Incident) -> StoredIncident {
    StoredIncident {
        // Plain structs of strings and numbers: they can always be written.
        subject: serde_json::to_string(&incident.subject).unwrap_or_default(),
        began_at_ms: incident.began_at_ms,
        ended_at_ms: incident.ended_at_ms,
        told_at_ms: incident.told_at_ms,
        is_settled: incident.is_settled(),
        facts: serde_json::to_string(incident).unwrap_or_default(),
    }
}
