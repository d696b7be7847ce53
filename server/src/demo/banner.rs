//! What the demo tells the person who started it.

use std::{
    fmt,
    io::{self, Write},
    net::SocketAddr,
    path::Path,
};

use super::{Demo, Folder, accounts::Made, authority::Files, people::Person, settings::UPSTREAM};
use crate::serve::Ready;

/// Everything that is worth knowing once it runs.
#[derive(Debug)]
pub(super) struct Banner<'a> {
    demo: &'a Demo,
    ready: &'a Ready,
    simulator: SocketAddr,
    folder: &'a Path,
    temporary: bool,
    ca: Option<&'a Path>,
    accounts: &'a [Made],
    mails: Option<SocketAddr>,
}

impl<'a> Banner<'a> {
    pub(super) fn new(
        demo: &'a Demo,
        ready: &'a Ready,
        simulator: SocketAddr,
        folder: &'a Folder<'_>,
    ) -> Self {
        Self {
            demo,
            ready,
            simulator,
            folder: folder.path(),
            temporary: folder.is_temporary(),
            ca: None,
            accounts: &[],
            mails: None,
        }
    }

    /// Says how clients come to trust the certificates.
    pub(super) fn with(self, certificates: Option<&'a Files>) -> Self {
        Self {
            ca: certificates.map(|files| files.ca.as_path()),
            ..self
        }
    }

    /// Says with which accounts people steer.
    pub(super) fn and_accounts(self, accounts: &'a [Made]) -> Self {
        Self { accounts, ..self }
    }

    /// Says where mail lands.
    pub(super) fn and_mails(self, at: SocketAddr) -> Self {
        Self {
            mails: Some(at),
            ..self
        }
    }

    /// Writes it to standard output; that nobody reads it is no reason to end.
    pub(super) fn show(&self) {
        let mut out = io::stdout().lock();
        let _ = write!(out, "{self}").and_then(|()| out.flush());
    }

    fn certificates(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ca) = self.ca.map(Path::display) else {
            return Ok(());
        };
        writeln!(
            f,
            "  Clients trust its certificates by their authority's file (a browser warns, or imports it):\n\n      \
             export NODE_EXTRA_CA_CERTS={ca}     # JavaScript\n      \
             export SSL_CERT_FILE={ca}     # Python, .NET, OpenSSL\n      \
             curl --cacert {ca} …\n"
        )
    }

    fn steering(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dashboard = &self.ready.dashboard;
        writeln!(
            f,
            "  Anybody may look. To steer, sign in at {dashboard}/sign-in as\n"
        )?;
        for made in self.accounts {
            let password = made.password.reveal();
            writeln!(f, "      {:<8}  {password}", made.role.to_string())?;
        }
        writeln!(f)
    }

    fn time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = self.demo.time_scale;
        if scale == 1 {
            return writeln!(f, "  Time runs as it does: the limits' hour takes an hour.");
        }
        let hour_s = (3_600.0 / f64::from(scale) * 10.0).round() / 10.0;
        writeln!(
            f,
            "  Time runs {scale} times faster here: the limits' hour passes in {hour_s} s."
        )
    }

    fn users(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = |count: u32| {
            if count == 1 {
                "1 user looks".to_owned()
            } else {
                format!("{count} users look")
            }
        };
        writeln!(
            f,
            "  {} into their notebooks now and then.",
            users(self.demo.scan_users)
        )?;
        let crawled = Person::crawled(self.demo.crawl_users).map(|person| person.user);
        let crawled = crawled.collect::<Vec<_>>().join(", ");
        if !crawled.is_empty() {
            writeln!(f, "  Crawled in the background: {crawled}.")?;
        }
        if self.demo.saturate {
            writeln!(
                f,
                "  Always asking for more than an hour allows: {}.",
                Person::saturating().user
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Banner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dashboard, gateway, simulator) =
            (&self.ready.dashboard, &self.ready.gateway, self.simulator);
        writeln!(f, "\n  Spillway is running. Open\n\n      {dashboard}/\n")?;
        writeln!(
            f,
            "  Gateway     {gateway}/{UPSTREAM}/     clients call this instead of the API"
        )?;
        writeln!(
            f,
            "  Simulator   http://{simulator}/_sim/stats     the referee: what arrived, what it rejected"
        )?;
        if let Some(mails) = self.mails {
            writeln!(
                f,
                "  Mail        http://{mails}/mails     what Spillway sends lands here: the first when a list is disabled\n"
            )?;
        }
        self.steering(f)?;
        self.certificates(f)?;
        self.time(f)?;
        self.users(f)?;
        let fate = if self.temporary {
            " (removed at the end)"
        } else {
            ""
        };
        writeln!(
            f,
            "  Its files are in {}{fate}.\n\n  Ctrl-C ends it.\n",
            self.folder.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        demo: Demo,
    }

    fn shown(arguments: &[&str]) -> String {
        let line =
            Line::try_parse_from(std::iter::once("demo").chain(arguments.iter().copied())).unwrap();
        let ready = Ready {
            dashboard: "http://127.0.0.1:3000".parse().unwrap(),
            gateway: "http://127.0.0.1:3001".parse().unwrap(),
            set_up: None,
        };
        let folder = Folder::Kept(Path::new("/data"));
        let certificates = line.demo.tls.then(|| Files {
            ca: "/data/ca.pem".into(),
            server: crate::config::TlsFiles {
                cert: "/data/server.pem".into(),
                key: "/data/server.key".into(),
            },
        });
        Banner::new(&line.demo, &ready, ([127, 0, 0, 1], 3002).into(), &folder)
            .with(certificates.as_ref())
            .and_mails(([127, 0, 0, 1], 3003).into())
            .to_string()
    }

    #[test]
    fn the_dashboard_s_address_comes_first() {
        let banner = shown(&[]);
        let first = banner
            .split_whitespace()
            .find(|word| word.starts_with("http"));
        assert_eq!(first, Some("http://127.0.0.1:3000/"));
        for part in [
            "http://127.0.0.1:3001/graph/",
            "http://127.0.0.1:3002/_sim/stats",
            "http://127.0.0.1:3003/mails",
            "in 60 s",
            "Ctrl-C",
            "/data.",
        ] {
            assert!(banner.contains(part), "{part}: {banner}");
        }
        assert!(!banner.contains("ca.pem"), "{banner}");
    }

    #[test]
    fn clients_are_told_what_to_trust() {
        let banner = shown(&["--tls"]);
        for line in [
            "export NODE_EXTRA_CA_CERTS=/data/ca.pem ",
            "export SSL_CERT_FILE=/data/ca.pem ",
            "curl --cacert /data/ca.pem ",
        ] {
            assert!(banner.contains(line), "{banner}");
        }
    }

    #[test]
    fn who_calls_is_told() {
        let banner = shown(&[
            "--saturate",
            "--scan-users",
            "1",
            "--crawl-users",
            "1",
            "--time-scale",
            "300",
        ]);
        assert!(
            banner.contains("1 user looks") && banner.contains("in 12 s"),
            "{banner}"
        );
        let crawled = Person::crawled(2).map(|person| banner.contains(&person.user));
        assert_eq!(crawled.collect::<Vec<_>>(), [true, false]);
        assert!(banner.contains(&Person::saturating().user), "{banner}");
    }
}
