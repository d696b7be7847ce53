//! Messages that somebody is owed: written down before they are sent, tried until they arrive or
//! are given up, and never twice but where nobody can know whether they arrived.
//!
//! Whoever owes a message writes it into the database, in the transaction of what it tells of where
//! there is one, and calls [`Outbox::wake`]. The driver in [`sending`] takes them from there.
//! However slow or broken whoever takes them is, others are not kept waiting: to each recipient
//! one is sent at a time, who was served longest ago comes first, and mail and webhooks have
//! places of their own.

mod backoff;
mod counters;
mod public;
mod sending;
mod smtp;
mod webhook;

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::Notify;

pub use backoff::{DOWN_MS_MAX, LATER_MS_MAX, delay_ms};
pub use counters::Counters;
pub use sending::Sending;
pub use smtp::{NoTls, Smtp};
pub use webhook::{Unusable, Webhook};

use crate::{
    config::Config,
    store::{Kind, StoredMessage},
};

/// How long a message that could not be delivered is tried: as long as RFC 5321, 4.5.4.1, has mail
/// tried.
pub const TRIED_MS_MAX: i64 = 5 * 86_400_000;

/// How long what is settled is kept.
pub const KEPT_MS: i64 = 30 * 86_400_000;

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody is there to take any.
    #[error("{0}")]
    Down(String),
    /// Not this one, for now.
    #[error("{0}")]
    Later(String),
    /// Not this one, ever.
    #[error("{0}")]
    Never(String),
}

/// What messages are handed to.
#[async_trait::async_trait]
pub trait Carrier: Send + Sync {
    /// Hands one over. In bounded time.
    ///
    /// # Errors
    /// It was not taken, or nobody knows whether it was.
    async fn carry(&self, message: &StoredMessage) -> Result<(), Failure>;
}

/// Everything that messages may be handed to.
#[derive(Clone, Default)]
pub struct Carriers {
    mail: Option<Arc<dyn Carrier>>,
    webhooks: BTreeMap<String, Arc<dyn Carrier>>,
}

/// Messages cannot be sent as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum Misconfigured {
    /// Mail.
    #[error(transparent)]
    Mail(#[from] NoTls),
    /// A webhook.
    #[error(transparent)]
    Webhook(#[from] Unusable),
}

/// Tells the driver that something is owed. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    owed: Arc<Notify>,
}

impl Carriers {
    /// Those that are configured.
    ///
    /// # Errors
    /// See [`Misconfigured`].
    pub fn new(config: &Config) -> Result<Self, Misconfigured> {
        let mut carriers = Self::default();
        if let Some(mail) = &config.mail {
            carriers = carriers.with_mail(Arc::new(Smtp::new(mail)?));
        }
        for webhook in &config.alerts.webhooks {
            let carrier = Arc::new(Webhook::new(webhook)?);
            carriers = carriers.with_webhook(&webhook.name, carrier);
        }
        Ok(carriers)
    }

    /// The same with this one for mail.
    #[must_use]
    pub fn with_mail(mut self, mail: Arc<dyn Carrier>) -> Self {
        self.mail = Some(mail);
        self
    }

    /// The same with what `wrapped` makes of the one for mail, if there is one.
    #[must_use]
    pub fn map_mail(mut self, wrapped: impl FnOnce(Arc<dyn Carrier>) -> Arc<dyn Carrier>) -> Self {
        self.mail = self.mail.map(wrapped);
        self
    }

    /// The same with this one for the webhook of this name.
    #[must_use]
    pub fn with_webhook(mut self, name: &str, webhook: Arc<dyn Carrier>) -> Self {
        self.webhooks.insert(name.to_owned(), webhook);
        self
    }

    /// Hands a message to whoever takes it.
    async fn carry(&self, message: &StoredMessage) -> Result<(), Failure> {
        let (carrier, missing) = match message.kind {
            Kind::Mail => (self.mail.as_ref(), "no mail server is configured"),
            Kind::Webhook => (
                self.webhooks.get(&message.recipient),
                "no webhook of this name is configured",
            ),
        };
        match carrier {
            Some(carrier) => carrier.carry(message).await,
            None => Err(Failure::Never(missing.to_owned())),
        }
    }
}

impl Outbox {
    /// Something is owed.
    pub fn wake(&self) {
        self.owed.notify_one();
    }
}
