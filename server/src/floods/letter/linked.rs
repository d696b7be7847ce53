//! Writes each reader's own link into their letter, on its way.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::TOPIC;
use crate::{
    access::{SiteLink, SiteLinks, site_link::LASTS_MS},
    outbox::{Carrier, Failure},
    store::StoredMessage,
};

/// Where the link is to stand. Names are shown without control characters, so that none of them
/// can hold it.
pub(super) const LINK: &str = "\u{1}link\u{1}";

/// What stands there for others.
const LINK_OF_ANOTHER: &str = "(a link that only the reader gets)";

/// What a letter is about.
#[derive(Serialize, Deserialize)]
pub(super) struct Concerns {
    pub(super) site: String,
    pub(super) list: String,
}

/// A text as people may read it who did not get it.
pub(crate) fn without_link(text: &str) -> String {
    text.replace(LINK, LINK_OF_ANOTHER)
}

/// Hands mail on, letters about floods with their readers' links. The same letter gets the same
/// link however often it is tried.
pub struct Linked {
    carrier: Arc<dyn Carrier>,
    links: SiteLinks,
}

impl Linked {
    /// To be handed on to this one.
    #[must_use]
    pub const fn new(carrier: Arc<dyn Carrier>, links: SiteLinks) -> Self {
        Self { carrier, links }
    }

    fn linked(&self, message: &StoredMessage) -> Option<StoredMessage> {
        let concerns: Concerns = serde_json::from_str(message.payload.as_deref()?).ok()?;
        let link = SiteLink {
            site: concerns.site,
            address: message.recipient.clone(),
            expires_at_ms: message.created_at_ms.saturating_add(LASTS_MS),
        };
        let address = self.links.address(&link, &concerns.list);
        // Of characters that need no escape in HTML but this one.
        let in_html = address.replace('&', "&amp;");
        Some(StoredMessage {
            body: message.body.replace(LINK, &address),
            html: message
                .html
                .as_ref()
                .map(|html| html.replace(LINK, &in_html)),
            ..message.clone()
        })
    }
}

#[async_trait::async_trait]
impl Carrier for Linked {
    async fn carry(&self, message: &StoredMessage) -> Result<(), Failure> {
        if message.topic != TOPIC {
            return self.carrier.carry(message).await;
        }
        let unreadable = || Failure::Never("it does not say which list it is about".to_owned());
        let message = self.linked(message).ok_or_else(unreadable)?;
        self.carrier.carry(&message).await
    }
}
