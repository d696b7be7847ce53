//! Messages as they are owed and kept.

use sqlx::{Row, sqlite::SqliteRow};

/// What carries a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A mail server.
    Mail,
    /// A program that takes POST requests.
    Webhook,
}

/// A message to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// What carries it.
    pub kind: Kind,
    /// An address, or a webhook's name.
    pub recipient: String,
    /// What it is about.
    pub topic: &'static str,
    /// The same is owed to nobody twice.
    pub dedupe: String,
    /// Its subject, one line.
    pub subject: String,
    /// Its text, or a webhook's JSON.
    pub body: String,
    /// The same for mail programs that show it.
    pub html: Option<String>,
    /// What it was made of, so that it can be made anew with more.
    pub payload: Option<String>,
}

/// A message as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// In the order in which they came to be owed.
    pub id: i64,
    /// What its recipient knows it by.
    pub uid: String,
    /// What carries it.
    pub kind: Kind,
    /// An address, or a webhook's name.
    pub recipient: String,
    /// What it is about.
    pub topic: String,
    /// Its subject, one line.
    pub subject: String,
    /// Its text, or a webhook's JSON.
    pub body: String,
    /// The same for mail programs that show it.
    pub html: Option<String>,
    /// What it was made of.
    pub payload: Option<String>,
    /// What became of it.
    pub state: MessageState,
    /// When it came to be owed, Unix milliseconds.
    pub created_at_ms: i64,
    /// When it is tried next, if it is, Unix milliseconds.
    pub not_before_ms: i64,
    /// How often it was tried.
    pub attempts: i64,
    /// Since when whoever would take it cannot be reached, Unix milliseconds.
    pub down_since_ms: Option<i64>,
    /// What went wrong last.
    pub error: Option<String>,
    /// When it was settled, Unix milliseconds.
    pub settled_at_ms: Option<i64>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// Its time has not come, or nobody had time for it.
    Waiting,
    /// Its delivery is being tried.
    Sending,
    /// Whoever takes it has it.
    Sent,
    /// It was given up.
    Failed,
    /// A later message says what it would have said.
    Merged,
}

/// How the delivery of a message ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It has arrived.
    Sent,
    /// It is tried again.
    Again {
        /// Not before this, Unix milliseconds.
        not_before_ms: i64,
        /// What went wrong.
        error: String,
        /// Whether nobody was there to take any message.
        is_down: bool,
    },
    /// It never is.
    Failed {
        /// Why.
        error: String,
    },
}

/// The first message that is due to a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which it is.
    pub id: i64,
    /// Whose.
    pub recipient: String,
}

/// How the outbox stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboxFigures {
    /// How many messages are owed.
    pub owed: i64,
    /// Since when the oldest of them is, Unix milliseconds.
    pub oldest_ms: Option<i64>,
    /// Since when those who would take them cannot be reached, Unix milliseconds.
    pub down_since_ms: Option<i64>,
    /// What went wrong with one of these.
    pub error: Option<String>,
}

impl Kind {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Mail, Self::Webhook];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Webhook => "webhook",
        }
    }
}

pub(in crate::store) fn stored(row: SqliteRow) -> StoredMessage {
    StoredMessage {
        id: row.get("id"),
        uid: row.get("uid"),
        kind: match row.get::<String, _>("kind").as_str() {
            "mail" => Kind::Mail,
            _ => Kind::Webhook,
        },
        recipient: row.get("recipient"),
        topic: row.get("topic"),
        subject: row.get("subject"),
        body: row.get("body"),
        html: row.get("html"),
        payload: row.get("payload"),
        state: match row.get::<String, _>("state").as_str() {
            "waiting" => MessageState::Waiting,
            "sending" => MessageState::Sending,
            "sent" => MessageState::Sent,
            "merged" => MessageState::Merged,
            _ => MessageState::Failed,
        },
        created_at_ms: row.get("created_at_ms"),
        not_before_ms: row.get("not_before_ms"),
        attempts: row.get("attempts"),
        down_since_ms: row.get("down_since_ms"),
        error: row.get("error"),
        settled_at_ms: row.get("settled_at_ms"),
    }
}
