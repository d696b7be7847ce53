//! What a server without accounts says on its terminal when it is ready.

use std::{
    fmt,
    io::{self, IsTerminal as _, Write},
};

use super::Ready;
use crate::{access::set_up::SetUpKey, config::WebAddress};

/// How the first admin is made.
struct Welcome<'a> {
    dashboard: &'a WebAddress,
    key: &'a SetUpKey,
}

impl Ready {
    /// Shows on the terminal how the first admin is made, if there is none. The link is a
    /// secret, so that it goes nowhere else: without a terminal the log only says what to do.
    pub fn announce(&self) {
        let Some(welcome) = self.welcome() else {
            return;
        };
        let mut shown = false;
        let (out, err) = (io::stdout(), io::stderr());
        // That the terminal is gone meanwhile is no reason to end.
        if out.is_terminal() {
            shown = write!(out.lock(), "{welcome}").is_ok();
        } else if err.is_terminal() {
            shown = write!(err.lock(), "{welcome}").is_ok();
        }
        if !shown {
            tracing::warn!(
                "nobody can sign in yet: make an admin by `spillway user add NAME --role admin`"
            );
        }
    }

    fn welcome(&self) -> Option<Welcome<'_>> {
        let (dashboard, key) = (&self.dashboard, self.set_up.as_ref()?);
        Some(Welcome { dashboard, key })
    }
}

impl fmt::Display for Welcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dashboard, key) = (self.dashboard, self.key.reveal());
        write!(
            f,
            "\n  Nobody can sign in yet. Make the first admin within 30 minutes at\n\n      \
             {dashboard}/set-up?key={key}\n\n  or any time by `spillway user add NAME --role admin`.\n\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::access::set_up::SetUp;

    #[test]
    fn the_link_is_whole_and_there_while_nobody_is() {
        let (_, key) = SetUp::begin(Timestamp::UNIX_EPOCH);
        let mut ready = Ready {
            dashboard: "https://spillway.example".parse().unwrap(),
            gateway: "https://gateway.example".parse().unwrap(),
            set_up: None,
        };
        assert!(ready.welcome().is_none());
        let link = format!(
            "      https://spillway.example/set-up?key={}\n",
            key.reveal()
        );
        ready.set_up = Some(key);
        assert!(ready.welcome().unwrap().to_string().contains(&link));
        assert!(!format!("{ready:?}").contains(&link[40..60]));
    }
}
