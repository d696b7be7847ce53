//! A token that is to be made: what people may ask for, and what comes of it.

use jiff::{Span, Timestamp, tz::TimeZone};
use spillway::Lane;

use crate::{
    access::{Impossible, Rights, TokenSecret},
    store::StoredToken,
};

/// The longest name, in characters.
pub const NAME_CHARS_MAX: usize = 64;

/// The longest key of an app or a site, in bytes: as long as the gateway keeps them.
pub const KEY_BYTES_MAX: usize = 256;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What people will call it.
    pub name: String,
    /// What it is to do.
    pub rights: Rights,
    /// When it is to end; `None`: never.
    pub expires: Option<Expiry>,
}

/// When a token ends.
#[derive(Clone, Copy, Debug)]
pub enum Expiry {
    /// So long after its making.
    After(Span),
    /// Then.
    At(Timestamp),
}

/// Why there can be no such token.
#[derive(Debug, thiserror::Error)]
pub enum NoSuchToken {
    /// No token can have such rights.
    #[error("no such token can be")]
    Impossible(#[from] Impossible),
    /// An upstream that is not configured.
    #[error("there is no upstream \"{}\"; configured: {known}", name.escape_debug())]
    UnknownUpstream {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A token that would never be valid.
    #[error("its end must lie ahead")]
    Expired,
    /// It would not come back from the database as it is.
    #[error("its rights cannot be written down")]
    Rights(#[from] serde_json::Error),
}

impl NewToken {
    /// A token that may be, made at `now`, and its secret; `upstreams` are those there are.
    ///
    /// # Errors
    /// See [`NoSuchToken`].
    pub fn draft(
        &self,
        upstreams: &[&str],
        now: Timestamp,
    ) -> Result<(TokenSecret, StoredToken), NoSuchToken> {
        self.rights.check()?;
        let mut bound = self.rights.upstreams.iter();
        if let Some(name) = bound.find(|name| !upstreams.contains(&name.as_str())) {
            return Err(NoSuchToken::UnknownUpstream {
                name: name.clone(),
                known: upstreams.join(", "),
            });
        }
        let expires_at = self.expires.map(|it| it.ends(now));
        let expires_at = expires_at.map(|ends| ends.ok_or(NoSuchToken::Expired));
        let secret = TokenSecret::random();
        let token = StoredToken {
            id: format!("{:016x}", rand::random::<u64>()),
            name: self.name.clone(),
            secret_sha256: secret.hash().to_vec(),
            rights: serde_json::to_string(&self.rights)?,
            created_at_ms: now.as_millisecond(),
            expires_at_ms: expires_at.transpose()?.map(Timestamp::as_millisecond),
            last_used_at_ms: None,
        };
        Ok((secret, token))
    }
}

impl Expiry {
    /// The instant, for a token made `now`; `None`: it does not lie ahead, or beyond all
    /// calendars.
    #[must_use]
    pub fn ends(self, now: Timestamp) -> Option<Timestamp> {
        let at = match self {
            Self::At(at) => at,
            // Days and months are the calendar's.
            Self::After(span) => {
                let now = now.to_zoned_datetime(TimeZone::UTC);
                now.checked_add(span).ok()?.timestamp()
            }
        };
        (at > now).then_some(at)
    }
}

/// `text` as the name of a token.
///
/// # Errors
/// None can have it, and why.
pub fn name(text: &str) -> Result<String, String> {
    let sound = !text.trim().is_empty()
        && text.trim() == text
        && text.chars().count() <= NAME_CHARS_MAX
        && !text.chars().any(char::is_control);
    if sound {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be 1 to {NAME_CHARS_MAX} characters, without control characters or spaces around them"
        ))
    }
}

/// `text` as the key of an app or a site.
///
/// # Errors
/// None can have it, and why.
pub fn key(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > KEY_BYTES_MAX || text.chars().any(char::is_control) {
        return Err(format!(
            "must be 1 to {KEY_BYTES_MAX} bytes, without control characters"
        ));
    }
    Ok(text.to_owned())
}

/// The lane of this name.
///
/// # Errors
/// There is none.
pub fn lane(text: &str) -> Result<Lane, String> {
    let mut lanes = Lane::ALL.into_iter();
    lanes
        .find(|lane| lane.to_string() == text)
        .ok_or_else(|| "must be foreground or background".to_owned())
}

/// An end, as people write it.
///
/// # Errors
/// It is none, and what would be one.
pub fn expiry(text: &str) -> Result<Expiry, String> {
    let at = text.parse().map(Expiry::At);
    at.or_else(|_| text.parse().map(Expiry::After))
        .map_err(|_| {
            "must be a length of time, like 90d, or an instant, like 2027-01-01T00:00:00Z"
                .to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_length_of_time_or_an_instant_and_lies_ahead() {
        let now: Timestamp = "2026-12-01T06:00:00Z".parse().unwrap();
        for (text, ends) in [
            ("90d", Some("2027-03-01T06:00:00Z")),
            ("12h", Some("2026-12-01T18:00:00Z")),
            ("1 month", Some("2027-01-01T06:00:00Z")),
            ("2027-01-01T00:00:00+01:00", Some("2026-12-31T23:00:00Z")),
            ("2026-12-01T06:00:00Z", None),
            ("-1d", None),
            ("0s", None),
            ("19000y", None),
        ] {
            let ends = ends.map(|at: &str| at.parse().unwrap());
            assert_eq!(expiry(text).unwrap().ends(now), ends, "{text}");
        }
        for text in ["", "soon", "90", "2027-01-01"] {
            assert!(expiry(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_and_keys_are_plain() {
        assert!(name("crawler of finance").is_ok());
        for text in ["", " ", " a", "a\n", &"x".repeat(NAME_CHARS_MAX + 1)] {
            assert!(name(text).is_err(), "{text:?}");
        }
        assert!(key(&"k".repeat(KEY_BYTES_MAX)).is_ok());
        for text in ["", " ", "a\u{7f}", &"k".repeat(KEY_BYTES_MAX + 1)] {
            assert!(key(text).is_err(), "{text:?}");
        }
    }
}
