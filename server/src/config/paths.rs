//! Which paths a workload claims: patterns over whole path segments.

use std::{borrow::Cow, str::FromStr};

/// A pattern over a path's first segments: `/v1/search` claims `/v1/search/all` too.
/// `*` stands for any one segment, one `**` for any number of them.
///
/// Case and percent-encoding make no difference: many servers ignore them, and a call
/// counted too often costs less than one counted never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    /// Before `**`, or all.
    head: Vec<String>,
    /// After `**`.
    tail: Option<Vec<String>>,
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Paths begin with a slash.
    #[error("must begin with `/`")]
    NoSlash,
    /// `/a//b`
    #[error("must not hold empty segments")]
    EmptySegment,
    /// `/a*`
    #[error("`*` and `**` must be whole segments, `**` at most once")]
    Star,
    /// `/a?b`
    #[error("must not hold a query or a fragment")]
    Query,
}

impl PathPattern {
    /// Whether `path`, without its query, begins as the pattern says.
    pub fn claims(&self, path: &str) -> bool {
        let Some(mut rest) = begins(segments(path), &self.head) else {
            return false;
        };
        let Some(tail) = &self.tail else {
            return true;
        };
        loop {
            if begins(rest.clone(), tail).is_some() {
                return true;
            }
            if rest.next().is_none() {
                return false;
            }
        }
    }
}

impl FromStr for PathPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        if text.contains(['?', '#']) {
            return Err(PatternError::Query);
        }
        let text = text.strip_prefix('/').ok_or(PatternError::NoSlash)?;
        let text = text.strip_suffix('/').unwrap_or(text);
        let parts = |text: &str| {
            text.split('/')
                .filter(|_| !text.is_empty())
                .map(|part| plain(part).into_owned())
                .collect::<Vec<_>>()
        };
        let all = parts(text);
        if all.iter().any(String::is_empty) {
            return Err(PatternError::EmptySegment);
        }
        let stars = all.iter().filter(|part| *part == "**").count();
        if stars > 1
            || all
                .iter()
                .any(|part| part.contains('*') && part != "*" && part != "**")
        {
            return Err(PatternError::Star);
        }
        let mut halves = all.split(|part| part == "**").map(<[String]>::to_vec);
        Ok(Self {
            head: halves.next().unwrap_or_default(),
            tail: halves.next(),
        })
    }
}

/// `path` with its percent-encoded ASCII letters, digits, `-`, `.`, `_` and `~` written
/// plainly, as RFC 3986 calls equivalent.
pub(super) fn plain(path: &str) -> Cow<'_, str> {
    if !path
        .bytes()
        .any(|byte| byte == b'%' || byte.is_ascii_uppercase())
    {
        return Cow::Borrowed(path);
    }
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let byte = rest
            .get(1..3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                plain.push(char::from(byte));
                rest = &rest[3..];
            }
            _ => {
                plain.push('%');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain.make_ascii_lowercase();
    Cow::Owned(plain)
}

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// What follows of `segments` behind those that `pattern` stands for. `None`: they begin otherwise.
fn begins<'p, S>(mut segments: S, pattern: &[String]) -> Option<S>
where
    S: Iterator<Item = &'p str>,
{
    for part in pattern {
        let segment = segments.next()?;
        if part != "*" && *part != *plain(segment) {
            return None;
        }
    }
    Some(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(pattern: &str, path: &str) -> bool {
        pattern.parse::<PathPattern>().unwrap().claims(path)
    }

    #[test]
    fn a_pattern_claims_whole_segments() {
        assert!(claims("/v1/search", "/v1/search"));
        assert!(claims("/v1/search", "/v1/search/all"));
        assert!(!claims("/v1/search", "/v1/searches"));
        assert!(claims("/", "/anything"));
    }

    #[test]
    fn stars_stand_for_segments() {
        assert!(claims("/users/*/mail", "/users/u1/mail/7"));
        assert!(!claims("/users/*/mail", "/users/mail"));
        assert!(claims("/**/mail", "/mail"));
        assert!(claims("/v1/**/mail", "/v1/a/b/mail/c"));
        assert!(!claims("/v1/**/mail", "/v2/mail"));
    }

    #[test]
    fn case_and_encoding_hide_nothing() {
        assert!(claims("/v1/search", "/V1/%73earch"));
        assert!(claims("/v1/search", "//v1//search"));
        assert!(!claims("/v1/search", "/v1%2Fsearch"));
        assert_eq!(plain("/%zz%4"), "/%zz%4");
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        use PatternError::*;
        for (text, why) in [
            ("v1", NoSlash),
            ("/a//b", EmptySegment),
            ("/a*", Star),
            ("/**/**", Star),
            ("/a?b", Query),
        ] {
            assert_eq!(text.parse::<PathPattern>(), Err(why), "{text}");
        }
    }
}
