//! Changes as people say them.

use jiff::Timestamp;
use spillway_app::live::Change;

use crate::{
    audit::{Entry, action},
    store::Names,
};

/// What an entry of the audit log says was changed; `None`: it changed nothing that operators
/// look for at night, such as a sign-in.
/// Accounts and tokens are told by their names.
pub(super) fn change(entry: &Entry, names: &Names) -> Option<Change> {
    let at = Timestamp::from_millisecond(entry.at_ms).ok()?;
    Some(Change {
        at: format!("{at:.0}"),
        who: who(entry),
        what: what(&entry.action, &entry.subject, names)?,
        why: entry.reason.clone().unwrap_or_default(),
    })
}

fn who(entry: &Entry) -> String {
    match (entry.actor_name.as_str(), entry.actor_kind.as_str()) {
        ("", "command_line") => "The command line".to_owned(),
        ("", "system") => "Spillway".to_owned(),
        ("", _) => "Somebody".to_owned(),
        (name, _) => name.to_owned(),
    }
}

/// `paused the background of graph`.
fn what(act: &str, subject: &str, names: &Names) -> Option<String> {
    // `lane:graph/background`: what kind of thing it is, and which.
    let which = subject.split_once(':').map_or(subject, |(_, which)| which);
    let which = names.get(subject).map_or(which, String::as_str);
    if let (action::POLICY_CHANGE | action::POLICY_ROLLBACK, Some(component)) =
        (act, which.strip_prefix("_floods/"))
    {
        return Some(format!("changed when events of {component} are a flood"));
    }
    let said = match act {
        action::SERVER_START => return Some("started the server".to_owned()),
        action::LANE_PAUSE => "paused",
        action::LANE_RESUME => "resumed",
        action::BREAKER_OPEN => "forced the breaker open:",
        action::BREAKER_CLOSE => "forced the breaker closed:",
        action::BREAKER_RESET => "reset the breaker:",
        action::POLICY_CHANGE => "changed the limits of",
        action::POLICY_ROLLBACK => "rolled back the limits of",
        action::POLICY_ADOPT => "took the limits of the configuration for",
        action::FLOOD_DISABLE => "disabled, for its floods, a component of",
        action::FLOOD_ENABLE => "re-enabled a component of",
        action::FLOOD_PAUSE => "paused the events of",
        action::FLOOD_RESUME => "resumed the events of",
        action::SITE_PUT => "told of the site",
        action::TOKEN_CREATE => "made the token",
        action::TOKEN_REVOKE => "revoked the token",
        action::ACCOUNT_CREATE => "made an account,",
        action::ACCOUNT_ROLE => "changed the role of account",
        action::ACCOUNT_DISABLE => "shut out account",
        action::ACCOUNT_ENABLE => "let in again account",
        action::ACCOUNT_INVITE => "handed out a link to account",
        action::ACCOUNT_REMOVE => "removed account",
        action::POLICY_SEED
        | action::ACCOUNT_PASSWORD
        | action::SESSION_START
        | action::SESSION_REFUSE
        | action::SESSION_END => return None,
        // What came later has no words of its own yet.
        other => return Some(format!("{other} {which}")),
    };
    Some(format!("{said} {which}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_act_has_words_or_is_none_that_is_told() {
        let names = [("account:4b43".to_owned(), "ada".to_owned())];
        let names = Names::from(names);
        let what = |act, subject| what(act, subject, &names);
        assert_eq!(
            what(action::ACCOUNT_CREATE, "account:4b43").as_deref(),
            Some("made an account, ada")
        );
        assert_eq!(
            what(action::ACCOUNT_CREATE, "account:4b44").as_deref(),
            Some("made an account, 4b44")
        );
        assert_eq!(
            what(action::LANE_PAUSE, "lane:graph/background").as_deref(),
            Some("paused graph/background")
        );
        assert_eq!(
            what(action::POLICY_CHANGE, "policy:_floods/action").as_deref(),
            Some("changed when events of action are a flood")
        );
        assert_eq!(
            what("site.pause", "site:s1").as_deref(),
            Some("site.pause s1")
        );
        for act in action::ALL {
            let said = what(act, "x:y").unwrap_or_default();
            assert!(!said.contains(act), "{act} has no words: {said}");
        }
    }
}
