//! Tokens as people read them on a terminal: a line each, no secrets, nothing that steers
//! the terminal.

use jiff::Timestamp;

use crate::{access::Rights, store::StoredToken, table::instant};

const HEADINGS: [&str; 7] = [
    "ID",
    "NAME",
    "ROLE",
    "SCOPES",
    "BOUND TO",
    "EXPIRES",
    "LAST USED",
];

/// All of them as a table, as of `now`.
pub(super) fn table(tokens: &[StoredToken], now: Timestamp) -> String {
    crate::table::table(HEADINGS, tokens.iter().map(|token| row(token, now)))
}

/// What is said of one that was revoked.
pub(super) fn revoked(token: &StoredToken) -> String {
    format!("revoked {} ({})\n", token.name.escape_debug(), token.id)
}

fn row(token: &StoredToken, now: Timestamp) -> [String; HEADINGS.len()] {
    let expires = match token.expires_at_ms {
        None => "never".to_owned(),
        Some(at_ms) if at_ms <= now.as_millisecond() => format!("expired {}", instant(at_ms)),
        Some(at_ms) => instant(at_ms),
    };
    let (role, scopes, bound) = match serde_json::from_str::<Rights>(&token.rights) {
        Ok(rights) => (rights.role.to_string(), scopes(&rights), bound(&rights)),
        Err(_) => ("damaged".to_owned(), "-".to_owned(), "-".to_owned()),
    };
    [
        token.id.clone(),
        token.name.escape_debug().to_string(),
        role,
        scopes,
        bound,
        expires,
        token
            .last_used_at_ms
            .map_or_else(|| "never".to_owned(), instant),
    ]
}

fn scopes(rights: &Rights) -> String {
    let scopes: Vec<_> = rights.scopes.iter().map(ToString::to_string).collect();
    scopes.join(",")
}

fn bound(rights: &Rights) -> String {
    let bindings = [
        ("upstream", &rights.upstreams),
        ("app", &rights.apps),
        ("site", &rights.sites),
    ];
    let named = bindings.into_iter().flat_map(|(what, names)| {
        names
            .iter()
            .map(move |name| format!("{what}={}", name.escape_debug()))
    });
    let lane = rights.lane.map(|lane| format!("lane={lane}"));
    let acts = rights.act_for_users.then(|| "acts for users".to_owned());
    let all: Vec<_> = named.chain(lane).chain(acts).collect();
    if all.is_empty() {
        "-".to_owned()
    } else {
        all.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_line_and_steers_no_terminal() {
        let token = StoredToken {
            id: "00000000000000aa".to_owned(),
            name: "evil\u{1b}[2J\u{202e}".to_owned(),
            secret_sha256: vec![7; 32],
            rights: r#"{"role":"member","scopes":["permits","gateway"],"upstreams":["graph"],
                "apps":[],"sites":[],"lane":"background","act_for_users":true}"#
                .to_owned(),
            created_at_ms: 0,
            expires_at_ms: Some(1_000),
            last_used_at_ms: Some(61_500),
        };
        let table = table(&[token], Timestamp::from_millisecond(1_000).unwrap());
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 2, "{table}");
        assert!(
            !table.contains('\u{1b}') && !table.contains('\u{202e}'),
            "{table}"
        );
        for part in [
            "00000000000000aa  evil\\u{1b}[2J\\u{202e}  member  gateway,permits",
            "upstream=graph lane=background acts for users",
            "expired 1970-01-01T00:00:01Z  1970-01-01T00:01:01Z",
        ] {
            assert!(lines[1].contains(part), "{part} is not in {}", lines[1]);
        }
    }
}
