//! The line: SMTP is a library's ([`mailin`]), the reading is bounded here.

use std::{io, sync::Arc, time::Duration};

use jiff::Timestamp;
use mailin::{Action, Handler, Response, SessionBuilder, response};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::timeout,
};

use super::Mailbox;
use crate::http::Shutdown;

/// How many send at a time: the outbox needs one connection.
const CONNECTIONS_MAX: usize = 8;

/// The longest line with its end, in bytes: longer than RFC 5321 allows (4.5.3.1.6).
const LINE_BYTES_MAX: u64 = 4_096;

/// The longest mail, in bytes.
const MAIL_BYTES_MAX: usize = 256 * 1024;

/// The most recipients of a mail (RFC 5321, 4.5.3.1.8).
const RECIPIENTS_MAX: usize = 100;

/// How long a line may take.
const LINE_WITHIN: Duration = Duration::from_secs(30);

/// Takes mail until the end.
pub(super) async fn take(listener: TcpListener, mailbox: Mailbox, shutdown: &Shutdown) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = shutdown.begun() => break,
        };
        // Who finds no place is turned away, and tries again.
        let place = Arc::clone(&places).try_acquire_owned();
        let (Ok((stream, _)), Ok(place)) = (accepted, place) else {
            continue;
        };
        let mailbox = mailbox.clone();
        connections.spawn(async move {
            if let Err(error) = converse(stream, mailbox).await {
                tracing::debug!(%error, "a mail did not come whole");
            }
            drop(place);
        });
    }
    connections.shutdown().await;
}

async fn converse(stream: TcpStream, mailbox: Mailbox) -> io::Result<()> {
    let remote = stream.peer_addr()?.ip();
    let (lines, mut answers) = stream.into_split();
    let mut lines = BufReader::new(lines);
    let taking = Taking {
        mailbox,
        to: Vec::new(),
        data: Vec::new(),
    };
    let mut session = SessionBuilder::new("demo.invalid").build(remote, taking);
    answers.write_all(&session.greeting().buffer()?).await?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut lines).take(LINE_BYTES_MAX);
        timeout(LINE_WITHIN, bounded.read_until(b'\n', &mut line)).await??;
        // The end, or a line that does not.
        if !line.ends_with(b"\n") {
            return Ok(());
        }
        let answer = session.process(&line);
        match answer.action {
            Action::NoReply => {}
            Action::Reply | Action::UpgradeTls => answers.write_all(&answer.buffer()?).await?,
            Action::Close => return answers.write_all(&answer.buffer()?).await,
        }
    }
}

/// A mail that is coming.
struct Taking {
    mailbox: Mailbox,
    to: Vec<String>,
    data: Vec<u8>,
}

impl Handler for Taking {
    fn mail(&mut self, _: std::net::IpAddr, _: &str, _: &str) -> Response {
        self.to.clear();
        self.data.clear();
        response::OK
    }

    fn rcpt(&mut self, to: &str) -> Response {
        if self.to.len() >= RECIPIENTS_MAX {
            return response::OUT_OF_SPACE;
        }
        self.to.push(to.to_owned());
        response::OK
    }

    fn data(&mut self, line: &[u8]) -> io::Result<()> {
        let room = MAIL_BYTES_MAX.saturating_sub(self.data.len());
        let taken = line.get(..line.len().min(room)).unwrap_or_default();
        self.data.extend_from_slice(taken);
        Ok(())
    }

    fn data_end(&mut self) -> Response {
        if self.data.len() >= MAIL_BYTES_MAX {
            return response::NO_STORAGE;
        }
        self.mailbox.take(&self.to, &self.data, Timestamp::now());
        response::OK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is answered to `said`, and the mailbox after it.
    async fn answers(said: &str) -> (String, Mailbox) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (mailbox, shutdown) = (Mailbox::default(), Shutdown::new());
        let taking = {
            let (mailbox, shutdown) = (mailbox.clone(), shutdown.clone());
            tokio::spawn(async move { take(listener, mailbox, &shutdown).await })
        };
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        shutdown.begin();
        taking.await.unwrap();
        (heard, mailbox)
    }

    const BEGIN: &str =
        "EHLO x\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.org>\r\nDATA\r\n";

    #[tokio::test]
    async fn a_mail_lands_with_its_dots() {
        let said = format!("{BEGIN}Subject: hi\r\n\r\n..dot\r\n.\r\nQUIT\r\n");
        let (heard, mailbox) = answers(&said).await;
        let mails = mailbox.all();
        assert_eq!(mails.len(), 1, "{heard}");
        assert_eq!(
            (mails[0].subject.as_str(), mails[0].text.trim_end()),
            ("hi", ".dot")
        );
        assert!(heard.trim_end().ends_with("221 Goodbye"), "{heard}");
    }

    #[tokio::test]
    async fn what_is_too_long_is_not_kept() {
        let line = "x".repeat(990) + "\r\n";
        let said = format!("{BEGIN}\r\n{}.\r\nQUIT\r\n", line.repeat(300));
        let (heard, mailbox) = answers(&said).await;
        assert!(
            mailbox.all().is_empty() && heard.contains("552 "),
            "{heard}"
        );
        let (_, mailbox) = answers(&"x".repeat(5_000)).await;
        assert!(mailbox.all().is_empty());
    }
}
