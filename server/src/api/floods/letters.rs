//! What a site's admins were told of a list, as it is shown.

use serde::Serialize;
use utoipa::ToSchema;

use super::lists::text;
use crate::{floods, store::MessageState};

/// A letter to one of the site's admins. Texts are to be shown as text, never as markup.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodLetter)]
pub(super) struct Letter {
    #[schema(pattern = "^(action|alert|item_id|summary)$")]
    component: &'static str,
    /// To whom.
    to: String,
    subject: String,
    /// What it says, without the link that only its reader gets.
    text: String,
    /// `failed`: it was given up.
    #[schema(pattern = "^(waiting|sending|sent|failed)$")]
    state: &'static str,
    /// How often it was tried.
    attempts: i64,
    #[schema(format = DateTime)]
    created_at: String,
    /// When it is tried next, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    next_at: Option<String>,
    /// When it was sent or given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    settled_at: Option<String>,
    /// What went wrong last; left out: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<floods::Letter> for Letter {
    fn from(it: floods::Letter) -> Self {
        Self {
            component: it.component.name(),
            to: it.to,
            subject: it.subject,
            text: it.text,
            state: match it.state {
                MessageState::Waiting => "waiting",
                MessageState::Sending => "sending",
                MessageState::Sent => "sent",
                // Letters are never merged.
                MessageState::Failed | MessageState::Merged => "failed",
            },
            attempts: it.attempts,
            created_at: text(it.created_at),
            next_at: it.next_at.map(text),
            settled_at: it.settled_at.map(text),
            error: it.error,
        }
    }
}
