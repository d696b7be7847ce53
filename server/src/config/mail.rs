//! `[mail]`: the server that takes mail, who it is from, and who is told of trouble.

use std::{fmt, str::FromStr};

use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use url::{Host, Url};

use super::Error;

/// The most addresses that are told of trouble; a list at the mail server takes more.
const TO_MAX: usize = 20;

/// Where mail goes, and from whom.
#[derive(Clone, Debug)]
pub struct Mail {
    /// What takes it.
    pub server: MailServer,
    /// Who it is from.
    pub from: Mailbox,
    /// Who is told of trouble.
    pub to: Vec<Mailbox>,
}

/// A server that takes mail. Its password is in no log: it is not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct MailServer {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How it is spoken to.
    pub security: Security,
    /// Name and password, where it wants them.
    pub login: Option<(String, String)>,
}

/// How a mail server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// By TLS from the first byte.
    Tls,
    /// By TLS after STARTTLS, or not at all.
    StartTls,
    /// By TLS where the server offers STARTTLS.
    Offered,
    /// As it is.
    Plain,
}

/// Why an address is no mail server's. Never repeats the text, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailServerError {
    /// Another scheme, or none.
    #[error(
        "must be an address like smtp://mail.example.org:25 or smtps://user:password@mail.example.org"
    )]
    NotSmtp,
    /// `?tls=` something else.
    #[error("`tls` must be `required` or `none`, and nothing else may follow the `?`")]
    Query,
    /// A path or a fragment.
    #[error("must not hold a path or a fragment; write `/` in a password as %2F, and `#` as %23")]
    Path,
    /// One of the two.
    #[error("must hold a user and a password, or neither")]
    Login,
    /// A password for everybody on the way.
    #[error("would send the password as it is: use smtps://, or leave `tls=none` out")]
    Exposed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    smtp_url: Option<String>,
    from: Option<String>,
    #[serde(default)]
    to: Vec<String>,
}

impl Raw {
    pub(super) fn check(self) -> Result<Mail, Error> {
        let missing = |key: &str| Error::invalid(format!("mail.{key}"), "is missing");
        let server = self.smtp_url.ok_or_else(|| missing("smtp_url"))?;
        let server = server
            .parse()
            .map_err(|error: MailServerError| Error::invalid("mail.smtp_url", error.to_string()))?;
        let from = mailbox("mail.from", &self.from.ok_or_else(|| missing("from"))?)?;
        if self.to.len() > TO_MAX {
            let problem = format!("must hold at most {TO_MAX} addresses");
            return Err(Error::invalid("mail.to", problem));
        }
        let to = self.to.iter().enumerate();
        let to = to.map(|(n, text)| mailbox(&format!("mail.to[{n}]"), text));
        Ok(Mail {
            server,
            from,
            to: to.collect::<Result<_, _>>()?,
        })
    }
}

fn mailbox(key: &str, text: &str) -> Result<Mailbox, Error> {
    let problem = "must be an address like spillway@example.org or Spillway <spillway@example.org>";
    text.parse().map_err(|_| Error::invalid(key, problem))
}

impl MailServer {
    /// Whether it certainly is on this machine.
    fn is_loopback(host: &Host<&str>) -> bool {
        match host {
            Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.to_canonical().is_loopback(),
        }
    }
}

impl FromStr for MailServer {
    type Err = MailServerError;

    fn from_str(text: &str) -> Result<Self, MailServerError> {
        let url: Url = text.parse().map_err(|_| MailServerError::NotSmtp)?;
        let implicit = match url.scheme() {
            "smtps" => true,
            "smtp" => false,
            _ => return Err(MailServerError::NotSmtp),
        };
        // Of a scheme that the library does not know, a host may be anything.
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.and_then(|host| Host::parse(host).ok());
        let host = host.ok_or(MailServerError::NotSmtp)?;
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(MailServerError::Path);
        }
        let named = match &host {
            Host::Domain(name) => Host::Domain(name.as_str()),
            Host::Ipv4(address) => Host::Ipv4(*address),
            Host::Ipv6(address) => Host::Ipv6(*address),
        };
        let here = Self::is_loopback(&named);
        let login = login(&url)?;
        let security = match (implicit, url.query()) {
            (true, None) => Security::Tls,
            (false, Some("tls=required")) => Security::StartTls,
            (false, Some("tls=none")) if login.is_none() || here => Security::Plain,
            (false, Some("tls=none")) => return Err(MailServerError::Exposed),
            // Nobody is on the way, and certificates there are rarely for that name.
            (false, None) if here => Security::Plain,
            (false, None) if login.is_some() => Security::StartTls,
            (false, None) => Security::Offered,
            _ => return Err(MailServerError::Query),
        };
        let host = match host {
            Host::Ipv6(address) => address.to_string(),
            other => other.to_string(),
        };
        Ok(Self {
            host,
            port: url.port().unwrap_or(if implicit { 465 } else { 25 }),
            security,
            login,
        })
    }
}

fn login(url: &Url) -> Result<Option<(String, String)>, MailServerError> {
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8();
        text.map(|text| text.into_owned())
            .map_err(|_| MailServerError::Login)
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) | (_, None) => Err(MailServerError::Login),
        (user, Some(password)) => Ok(Some((decoded(user)?, decoded(password)?))),
    }
}

impl fmt::Debug for MailServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailServer")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("security", &self.security)
            .field("login", &self.login.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> MailServer {
        text.parse().unwrap()
    }

    #[test]
    fn how_a_server_is_spoken_to_follows_from_its_address() {
        for (text, port, security) in [
            ("smtp://127.0.0.1:25", 25, Security::Plain),
            ("smtp://localhost", 25, Security::Plain),
            ("smtp://[::1]:2525", 2525, Security::Plain),
            ("smtp://localhost?tls=required", 25, Security::StartTls),
            ("smtp://mail.example.org", 25, Security::Offered),
            ("smtp://a:b@mail.example.org:587", 587, Security::StartTls),
            ("smtp://mail.example.org/?tls=none", 25, Security::Plain),
            ("smtps://a:b@mail.example.org", 465, Security::Tls),
        ] {
            let found = server(text);
            assert_eq!((found.port, found.security), (port, security), "{text}");
        }
        assert_eq!(server("smtp://[::1]").host, "::1");
    }

    #[test]
    fn a_password_is_decoded_and_never_shown() {
        let found = server("smtps://ops%40example.org:s%2Fcret@mail.example.org");
        let login = ("ops@example.org".to_owned(), "s/cret".to_owned());
        assert_eq!(found.login, Some(login));
        assert!(!format!("{found:?}").contains("cret"));
    }

    #[test]
    fn what_is_no_mail_server_is_refused() {
        use MailServerError::*;
        for (text, why) in [
            ("", NotSmtp),
            ("mail.example.org", NotSmtp),
            ("http://mail.example.org", NotSmtp),
            ("smtp://", NotSmtp),
            ("smtp://mail.example.org?tls=maybe", Query),
            ("smtps://mail.example.org?tls=required", Query),
            ("smtp://mail.example.org/x", Path),
            ("smtp://mail.example.org#x", Path),
            ("smtp://me@mail.example.org", Login),
            ("smtp://:x@mail.example.org", Login),
            ("smtp://a:b@mail.example.org?tls=none", Exposed),
        ] {
            assert_eq!(text.parse::<MailServer>().unwrap_err(), why, "{text}");
        }
    }
}
