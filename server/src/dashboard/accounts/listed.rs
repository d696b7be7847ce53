//! Accounts and sessions as pages show them.

use std::sync::Arc;

use jiff::Timestamp;
use spillway_app::{AccountSession, ListedAccount};

use crate::access::{Session, people::Listed};

pub(super) fn listed(account: Listed, own: Option<&str>) -> ListedAccount {
    ListedAccount {
        is_own: own == Some(&account.id),
        way: way(&account),
        role: account
            .role
            .map_or_else(|| "damaged".to_owned(), |role| role.to_string()),
        is_disabled: account.is_disabled,
        sessions: account.sessions,
        seen_at: account.seen_at_ms.map(at).unwrap_or_default(),
        made_at: at(account.created_at_ms),
        id: account.id,
        name: account.name,
    }
}

/// How its owner gets in.
fn way(account: &Listed) -> String {
    let link = account.invited_until_ms.map(|until_ms| {
        let until = at(until_ms).replace('T', " ").replace('Z', " UTC");
        format!("link until {until}")
    });
    let ways = [
        account.has_password.then(|| "password".to_owned()),
        account.is_provided.then(|| "identity provider".to_owned()),
        link,
    ];
    let ways: Vec<_> = ways.into_iter().flatten().collect();
    if ways.is_empty() {
        "nothing yet: make a link".to_owned()
    } else {
        ways.join(", ")
    }
}

pub(super) fn session(session: &Arc<Session>) -> AccountSession {
    AccountSession {
        handle: session.handle.clone(),
        signed_in_at: format!("{:.0}", session.signed_in_at),
        seen_at: at(session.seen_at_ms()),
    }
}

/// RFC 3339, to the second.
fn at(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms);
    at.map_or_else(|_| String::new(), |at| format!("{at:.0}"))
}
