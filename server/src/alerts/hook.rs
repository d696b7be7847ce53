//! What a webhook is told of incidents: JSON, with the words that people are told.

use jiff::Timestamp;
use serde::Serialize;
use spillway_app::live::BreakerReason;

use super::{
    incident::{Incident, Subject},
    words::Words,
};

/// What is said of these, for a program.
#[must_use]
pub fn hook(incidents: &[Incident], words: &Words, link: &str, at_ms: i64) -> String {
    let hook = Hook {
        r#type: "incidents",
        at: rfc3339(at_ms),
        text: &words.text,
        link,
        incidents: incidents.iter().map(HookIncident::of).collect(),
    };
    // Plain structs of strings and numbers: they can always be written.
    serde_json::to_string(&hook).unwrap_or_default()
}

/// What a webhook is sent.
#[derive(Serialize)]
struct Hook<'a> {
    r#type: &'static str,
    at: String,
    /// The same as a mail says: chat programs show this member.
    text: &'a str,
    link: &'a str,
    incidents: Vec<HookIncident<'a>>,
}

#[derive(Serialize)]
struct HookIncident<'a> {
    #[serde(flatten)]
    subject: &'a Subject,
    state: &'static str,
    began_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<BreakerReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    returns: u32,
    drift: u32,
    #[serde(skip_serializing_if = "is_zero")]
    users_max: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

fn rfc3339(at_ms: i64) -> String {
    format!(
        "{:.3}",
        Timestamp::from_millisecond(at_ms).unwrap_or_default()
    )
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl<'a> HookIncident<'a> {
    fn of(incident: &'a Incident) -> Self {
        Self {
            subject: &incident.subject,
            state: if incident.ended_at_ms.is_some() {
                "over"
            } else {
                "open"
            },
            began_at: rfc3339(incident.began_at_ms),
            ended_at: incident.ended_at_ms.map(rfc3339),
            reason: incident.reason,
            until: incident.until_ms.map(rfc3339),
            returns: incident.returns,
            drift: incident.drift,
            users_max: incident.users_max,
            error: incident.error.as_deref(),
        }
    }
}
