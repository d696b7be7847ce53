//! Mail by SMTP: one connection for each message, each step in bounded time.
//!
//! Between the message's last byte and the server's answer nobody can tell whether it was taken.
//! It is sent again then, under the same `Message-ID`.

use std::{fmt, time::Duration};

use lettre::{
    Address, Message,
    message::{
        Mailbox, MultiPart, SinglePart,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp::{
        self,
        authentication::{Credentials, DEFAULT_MECHANISMS},
        client::{AsyncSmtpConnection, TlsParameters},
        commands::{Data, Mail as MailFrom, Rcpt},
        extension::{ClientId, Extension, MailBodyParameter, MailParameter},
    },
};
use tokio::time::timeout;

use super::{Carrier, Failure};
use crate::{
    config::{Mail, MailServer, Security},
    store::StoredMessage,
};

/// How long a connection may take, TLS and greeting included.
const CONNECT_MAX: Duration = Duration::from_secs(15);

/// How long any other answer may take.
const STEP_MAX: Duration = Duration::from_secs(30);

/// How long the answer to a whole message may take: who gives up early sends it twice (RFC 5321,
/// 4.5.3.2.6, has ten minutes, for servers that filter meanwhile).
const TAKE_MAX: Duration = Duration::from_secs(120);

/// A mail server, ready to be spoken to.
pub struct Smtp {
    server: MailServer,
    from: Mailbox,
    hello: ClientId,
    tls: Option<TlsParameters>,
}

/// Mail cannot be sent as it is configured.
#[derive(Debug, thiserror::Error)]
#[error("mail.smtp_url: the certificates of this system cannot be used")]
pub struct NoTls(#[source] smtp::Error);

impl Smtp {
    /// Speaks to the configured server, from the next message on.
    ///
    /// # Errors
    /// It wants TLS, and there are no certificates to know it by.
    pub fn new(mail: &Mail) -> Result<Self, NoTls> {
        let tls = match mail.server.security {
            Security::Plain => None,
            _ => Some(TlsParameters::new(mail.server.host.clone()).map_err(NoTls)?),
        };
        Ok(Self {
            // Its own name is what servers want to see; the sender's domain is as near as it gets.
            hello: ClientId::Domain(mail.from.email.domain().to_owned()),
            server: mail.server.clone(),
            from: mail.from.clone(),
            tls,
        })
    }

    async fn send(&self, message: &StoredMessage) -> Result<(), Failure> {
        let to: Mailbox = message
            .recipient
            .parse()
            .map_err(|_| Failure::Never("the recipient is no mail address".to_owned()))?;
        let written = self.written(message, to.clone())?;
        let mut connection = self.connected().await.map_err(Failure::Down)?;
        let sent = self.over(&mut connection, to.email, &written).await;
        // Whether it says good-bye or not.
        let _ = timeout(STEP_MAX, connection.quit()).await;
        sent
    }

    /// The mail as it is sent, in ASCII alone.
    fn written(&self, message: &StoredMessage, to: Mailbox) -> Result<Vec<u8>, Failure> {
        let never =
            |error: &dyn fmt::Display| Failure::Never(format!("cannot be written: {error}"));
        let id = format!("<{}@{}>", message.uid, self.from.email.domain());
        let at = u64::try_from(message.created_at_ms).unwrap_or_default();
        let date = std::time::UNIX_EPOCH + Duration::from_millis(at);
        let builder = Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(message.subject.as_str())
            .message_id(Some(id))
            .date(date)
            // Nobody's absence note shall answer it (RFC 3834).
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ));
        let mail = match message.html.clone() {
            Some(html) => builder.multipart(MultiPart::alternative_plain_html(
                message.body.clone(),
                html,
            )),
            None => builder.singlepart(SinglePart::plain(message.body.clone())),
        };
        Ok(mail.map_err(|error| never(&error))?.formatted())
    }

    /// Connected, by TLS where it is to be, and let in.
    async fn connected(&self) -> Result<AsyncSmtpConnection, String> {
        let server = &self.server;
        let tls = self
            .tls
            .clone()
            .filter(|_| server.security == Security::Tls);
        let address = (server.host.as_str(), server.port);
        let connecting =
            AsyncSmtpConnection::connect_tokio1(address, Some(CONNECT_MAX), &self.hello, tls, None);
        let mut connection = step(CONNECT_MAX, "connecting", connecting).await?;
        let offered = connection.can_starttls();
        match (&self.tls, server.security) {
            (Some(_), Security::StartTls) if !offered => {
                return Err("the mail server offers no STARTTLS".to_owned());
            }
            (Some(tls), Security::StartTls | Security::Offered) if offered => {
                let starting = connection.starttls(tls.clone(), &self.hello);
                step(CONNECT_MAX, "STARTTLS", starting).await?;
            }
            _ => {}
        }
        if let Some((user, password)) = server.login.clone() {
            let credentials = Credentials::new(user, password);
            let entering = connection.auth(DEFAULT_MECHANISMS, &credentials);
            step(STEP_MAX, "signing in", entering).await?;
        }
        Ok(connection)
    }

    async fn over(
        &self,
        connection: &mut AsyncSmtpConnection,
        to: Address,
        written: &[u8],
    ) -> Result<(), Failure> {
        let mut parameters = Vec::new();
        if !self.from.email.to_string().is_ascii() || !to.to_string().is_ascii() {
            if !connection
                .server_info()
                .supports_feature(Extension::SmtpUtfEight)
            {
                let error = "the mail server takes no addresses beyond ASCII".to_owned();
                return Err(Failure::Never(error));
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !written.is_ascii() {
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        let from = MailFrom::new(Some(self.from.email.clone()), parameters);
        // Who may not send at all is no recipient's fault.
        step(STEP_MAX, "the sender", connection.command(from))
            .await
            .map_err(Failure::Down)?;
        let to = Rcpt::new(to, Vec::new());
        taken(STEP_MAX, "the recipient", connection.command(to)).await?;
        taken(STEP_MAX, "the message", connection.command(Data)).await?;
        taken(TAKE_MAX, "the message", connection.message(written)).await
    }
}

#[async_trait::async_trait]
impl Carrier for Smtp {
    async fn carry(&self, message: &StoredMessage) -> Result<(), Failure> {
        self.send(message).await
    }
}

impl fmt::Debug for Smtp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Smtp")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// One step of the exchange; an error in words.
async fn step<T>(
    at_most: Duration,
    what: &str,
    work: impl Future<Output = Result<T, smtp::Error>>,
) -> Result<T, String> {
    match timeout(at_most, work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(format!("{what}: {error}")),
        Err(_) => Err(format!("{what}: no answer within {} s", at_most.as_secs())),
    }
}

/// One step that is about this message alone, unless the connection breaks.
async fn taken(
    at_most: Duration,
    what: &str,
    work: impl Future<Output = Result<smtp::response::Response, smtp::Error>>,
) -> Result<(), Failure> {
    match timeout(at_most, work).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => {
            let said = format!("{what}: {error}");
            // 421: the server goes away, whatever was asked (RFC 5321, 3.8).
            let leaves = error.status().is_some_and(|code| code.to_string() == "421");
            Err(match () {
                () if error.is_permanent() => Failure::Never(said),
                () if error.is_transient() && !leaves => Failure::Later(said),
                () => Failure::Down(said),
            })
        }
        Err(_) => {
            let seconds = at_most.as_secs();
            Err(Failure::Down(format!(
                "{what}: no answer within {seconds} s"
            )))
        }
    }
}
