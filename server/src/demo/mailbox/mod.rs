//! Where a demo's mail lands: a mail server on loopback that takes everything, and a page that
//! shows it. It hands nothing on, and forgets all of it at the end.

mod page;
mod smtp;

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use mail_parser::MessageParser;
use tokio::net::TcpListener;

use crate::{
    config::WebAddress,
    http::{self, AllowedHosts, Guard, Listener, Shutdown},
};

/// How many mails are kept; the oldest makes way.
const KEPT_MAX: usize = 100;

/// How long the end waits for the last page.
const GRACE: Duration = Duration::from_secs(1);

/// The mails. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Mailbox(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    mails: VecDeque<Arc<Mail>>,
    /// The number of the next.
    next: u64,
}

/// A mail that came.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mail {
    /// From 0 upwards.
    number: u64,
    /// When it came.
    at: Timestamp,
    /// To whom its envelope says.
    to: Vec<String>,
    subject: String,
    text: String,
    /// The same for programs that show it; empty: there is none.
    html: String,
}

impl Mailbox {
    /// Takes a mail in, as it came over the line.
    fn take(&self, to: &[String], data: &[u8], at: Timestamp) {
        let parsed = MessageParser::default().parse(data);
        let parsed = parsed.as_ref();
        let text = parsed.and_then(|it| it.body_text(0)).unwrap_or_default();
        let html = parsed.and_then(|it| it.body_html(0)).unwrap_or_default();
        let mut kept = self.kept();
        let mail = Mail {
            number: kept.next,
            at,
            to: to.to_vec(),
            subject: parsed
                .and_then(|it| it.subject())
                .unwrap_or_default()
                .to_owned(),
            // On the line, lines end in two characters.
            text: text.replace("\r\n", "\n"),
            html: html.into_owned(),
        };
        kept.next += 1;
        if kept.mails.len() >= KEPT_MAX {
            kept.mails.pop_front();
        }
        kept.mails.push_back(Arc::new(mail));
    }

    /// All of them, the newest first.
    fn all(&self) -> Vec<Arc<Mail>> {
        self.kept().mails.iter().rev().cloned().collect()
    }

    fn one(&self, number: u64) -> Option<Arc<Mail>> {
        let kept = self.kept();
        kept.mails.iter().find(|it| it.number == number).cloned()
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes mail from `smtp` and shows it by `pages`, which listens `at`, until the end.
pub(super) async fn run(
    smtp: TcpListener,
    pages: TcpListener,
    at: SocketAddr,
    shutdown: &Shutdown,
) {
    let mailbox = Mailbox::default();
    let listener = Listener {
        name: "mailbox",
        socket: pages,
        tls: None,
    };
    let guard = Guard {
        hosts: AllowedHosts::of(&address(at)),
        open: true,
    };
    let shown = http::guarded(page::routes(mailbox.clone()), guard);
    tokio::join!(
        smtp::take(smtp, mailbox, shutdown),
        http::serve(listener, shown, shutdown.clone(), GRACE),
    );
}

/// What browsers call it; none where that is no address, so that nobody is let in.
fn address(at: SocketAddr) -> Option<WebAddress> {
    format!("http://{at}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &[u8] = b"From: a@example.org\r\nTo: b@example.org\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
        MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n\
        --x\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
        Gr=C3=BC=C3=9Fe, http://127.0.0.1/?a=3Db=\r\nc\r\n\
        --x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Hi</p>\r\n--x--\r\n";

    fn mailbox(mails: usize) -> Mailbox {
        let mailbox = Mailbox::default();
        for _ in 0..mails {
            mailbox.take(&["b@example.org".to_owned()], MAIL, Timestamp::UNIX_EPOCH);
        }
        mailbox
    }

    #[test]
    fn a_mail_is_read_with_both_its_parts() {
        let mail = mailbox(1).one(0).unwrap();
        assert_eq!(mail.subject, "Grüße");
        assert_eq!(mail.text.trim_end(), "Grüße, http://127.0.0.1/?a=bc");
        assert_eq!(mail.html.trim_end(), "<p>Hi</p>");
        assert_eq!(mail.to, ["b@example.org"]);
    }

    #[test]
    fn so_many_are_kept_and_the_oldest_makes_way() {
        let mailbox = mailbox(KEPT_MAX + 1);
        assert_eq!(mailbox.all().len(), KEPT_MAX);
        assert!(mailbox.one(0).is_none());
        assert_eq!(mailbox.all()[0].number, 100);
    }

    #[test]
    fn what_is_no_mail_is_kept_as_one_without_words() {
        let mailbox = Mailbox::default();
        mailbox.take(&[], b"\xff\xfe", Timestamp::UNIX_EPOCH);
        assert_eq!(mailbox.all()[0].subject, "");
    }
}
