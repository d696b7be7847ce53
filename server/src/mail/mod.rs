//! `spillway mail`: whether mail goes out as it is configured.

mod args;

use std::io::{self, Write};

use jiff::Timestamp;
use lettre::message::Mailbox;

pub use args::{Command, MailArgs};

use crate::{
    config::{self, Config, Mail},
    outbox::{Carrier as _, Failure, NoTls, Smtp},
    store::{Kind, MessageState, StoredMessage},
};

/// Why it was not sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// There is no mail server.
    #[error("mail: is missing; add a section [mail] with smtp_url and from to the configuration")]
    NoMail,
    /// There is nobody to send it to.
    #[error("mail.to: holds nobody; name somebody by --to")]
    Nobody,
    /// TLS is impossible.
    #[error(transparent)]
    NoTls(#[from] NoTls),
    /// The mail server did not take it.
    #[error("{to}: not sent")]
    NotSent {
        /// To whom.
        to: String,
        /// What happened.
        #[source]
        source: Failure,
    },
    /// Nobody reads what was to be printed.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl Error {
    /// Whether nothing was tried.
    pub fn at_start(&self) -> bool {
        !matches!(self, Self::NotSent { .. } | Self::Output(_))
    }
}

/// Does what is asked, at `now`.
///
/// # Errors
/// See [`Error`].
pub async fn run(args: &MailArgs, now: Timestamp) -> Result<(), Error> {
    let config = Config::load(args.config.as_deref(), std::env::vars_os())?;
    let mail = config.mail.ok_or(Error::NoMail)?;
    let Command::Test { to } = &args.command;
    let recipients = match to {
        Some(to) => vec![to.clone()],
        None => mail.to.clone(),
    };
    if recipients.is_empty() {
        return Err(Error::Nobody);
    }
    let smtp = Smtp::new(&mail)?;
    for to in &recipients {
        let sent = smtp.carry(&message(to, now)).await;
        sent.map_err(|source| Error::NotSent {
            to: to.email.to_string(),
            source,
        })?;
        writeln!(io::stdout(), "{}", taken(to, &mail))?;
    }
    Ok(())
}

fn taken(to: &Mailbox, mail: &Mail) -> String {
    let server = &mail.server;
    format!("{}: taken by {}:{}", to.email, server.host, server.port)
}

fn message(to: &Mailbox, now: Timestamp) -> StoredMessage {
    let now_ms = now.as_millisecond();
    StoredMessage {
        id: 0,
        uid: format!("{:032x}", rand::random::<u128>()),
        kind: Kind::Mail,
        recipient: to.to_string(),
        topic: "test".to_owned(),
        subject: "[Spillway] A test".to_owned(),
        body: "Mail from Spillway reaches you. Nothing is wrong.\n".to_owned(),
        html: None,
        payload: None,
        state: MessageState::Sending,
        created_at_ms: now_ms,
        not_before_ms: now_ms,
        attempts: 1,
        down_since_ms: None,
        error: None,
        settled_at_ms: None,
    }
}
