//! What a provider says of somebody: the claims of an ID token, checked as OpenID Connect Core
//! 3.1.3.7 asks.
//!
//! The token came from the token endpoint itself, over TLS, which that section takes in place of
//! its signature: nobody else could have written it there.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

use crate::access::Role;

/// How far clocks may be apart, in seconds.
const SKEW_S: i64 = 60;

/// The longest subject, in bytes (OpenID Connect Core, 2: 255 ASCII characters).
const SUBJECT_BYTES_MAX: usize = 255;

/// What has to be true of the claims.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now_s: i64,
    pub(super) roles_claim: &'a str,
    pub(super) roles: &'a BTreeMap<String, Role>,
}

/// Somebody a provider vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// Issuer and subject: names them for ever.
    pub subject: String,
    /// What people call them.
    pub name: String,
    /// The highest role that their claim means.
    pub role: Role,
}

/// Why nobody is let in by an ID token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotVouched {
    /// It is no token, or lacks what each has.
    #[error("the provider's ID token cannot be read")]
    Unreadable,
    /// It is somebody else's, or for somebody else.
    #[error("the provider's ID token is not for this sign-in: its {0} is another")]
    Another(&'static str),
    /// It is over, or not yet.
    #[error("the provider's ID token is not good now: compare the clocks of both machines")]
    NotNow,
    /// Nothing in it means a role.
    #[error(
        "the provider knows you, but gives you no role here: ask for one of its claim \"{}\"",
        .0.escape_debug()
    )]
    NoRole(String),
}

/// Whom the ID token vouches for.
///
/// # Errors
/// See [`NotVouched`].
pub(super) fn vouched(id_token: &str, expected: Expected<'_>) -> Result<Vouched, NotVouched> {
    let claims = claims(id_token).ok_or(NotVouched::Unreadable)?;
    let is = |name: &'static str, wanted: &str| match claims[name].as_str() == Some(wanted) {
        true => Ok(()),
        false => Err(NotVouched::Another(name)),
    };
    is("iss", expected.issuer)?;
    is("nonce", expected.nonce)?;
    audience(&claims, expected.client_id)?;
    let seconds = |name: &str| claims[name].as_i64();
    let expires = seconds("exp").ok_or(NotVouched::Unreadable)?;
    let issued = seconds("iat").ok_or(NotVouched::Unreadable)?;
    let is_over = expected.now_s >= expires.saturating_add(SKEW_S);
    if is_over || issued > expected.now_s.saturating_add(SKEW_S) {
        return Err(NotVouched::NotNow);
    }
    let subject = claims["sub"].as_str();
    let subject = subject.filter(|it| !it.is_empty() && it.len() <= SUBJECT_BYTES_MAX);
    let subject = subject.ok_or(NotVouched::Unreadable)?;
    let role = role(&claims, expected.roles_claim, expected.roles);
    Ok(Vouched {
        subject: format!("{}\n{subject}", expected.issuer),
        name: name(&claims, subject),
        role: role.ok_or_else(|| NotVouched::NoRole(expected.roles_claim.to_owned()))?,
    })
}

fn claims(id_token: &str) -> Option<Value> {
    let mut parts = id_token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none();
    let bytes = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Value = serde_json::from_slice(&bytes).ok()?;
    (is_whole && claims.is_object()).then_some(claims)
}

/// It is for this client; where for others, too, this one asked.
fn audience(claims: &Value, client_id: &str) -> Result<(), NotVouched> {
    let (is_in, is_alone) = match &claims["aud"] {
        Value::String(only) => (only == client_id, true),
        Value::Array(all) => (all.iter().any(|it| it == client_id), all.len() == 1),
        _ => (false, false),
    };
    if !is_in {
        return Err(NotVouched::Another("aud"));
    }
    match claims["azp"].as_str() {
        Some(asked) if asked != client_id => Err(NotVouched::Another("azp")),
        None if !is_alone => Err(NotVouched::Another("azp")),
        _ => Ok(()),
    }
}

/// The highest role that a value of the claim means.
fn role(claims: &Value, path: &str, roles: &BTreeMap<String, Role>) -> Option<Role> {
    // A claim's own name may have dots, too.
    let claim = claims.get(path).or_else(|| {
        let mut names = path.split('.');
        names.try_fold(claims, |inside, name| inside.get(name))
    })?;
    let meant = |value: &Value| roles.get(value.as_str()?).copied();
    match claim {
        Value::Array(values) => values.iter().filter_map(meant).max(),
        value => meant(value),
    }
}

/// What people call them, as far as an account can be called so.
fn name(claims: &Value, subject: &str) -> String {
    let told = ["preferred_username", "email", "name"].into_iter();
    let told = told.filter_map(|name| claims[name].as_str());
    let told = told.map(plain).find(|name| !name.is_empty());
    told.unwrap_or_else(|| plain(subject))
}

fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text: String = text.trim().chars().take(NAME_CHARS_MAX).collect();
    text.trim().to_owned()
}

/// Shorter than an account's name may be: what tells two of one name apart fits behind it.
const NAME_CHARS_MAX: usize = 54;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW_S: i64 = 1_800_000_000;

    fn good() -> Value {
        json!({
            "iss": "https://id.example", "aud": "spillway", "nonce": "n", "sub": "7",
            "iat": NOW_S, "exp": NOW_S + 300, "preferred_username": "ada@example.org",
            "roles": ["x", "ops", "admins"],
        })
    }

    fn told(claims: &Value, roles_claim: &str) -> Result<Vouched, NotVouched> {
        let claims = URL_SAFE_NO_PAD.encode(claims.to_string());
        let roles = [
            ("ops".to_owned(), Role::Operator),
            ("admins".to_owned(), Role::Admin),
        ];
        let expected = Expected {
            issuer: "https://id.example",
            client_id: "spillway",
            nonce: "n",
            now_s: NOW_S,
            roles_claim,
            roles: &roles.into(),
        };
        vouched(&format!("e30.{claims}.c2ln"), expected)
    }

    fn with(name: &str, value: Value) -> Result<Vouched, NotVouched> {
        let mut claims = good();
        claims[name] = value;
        told(&claims, "roles")
    }

    #[test]
    fn a_good_token_vouches_with_the_highest_role() {
        let ada = told(&good(), "roles").unwrap();
        assert_eq!(ada.subject, "https://id.example\n7");
        assert_eq!(
            (ada.name.as_str(), ada.role),
            ("ada@example.org", Role::Admin)
        );
        let mut nested = good();
        nested["realm_access"] = json!({ "roles": ["ops"] });
        assert_eq!(
            told(&nested, "realm_access.roles").unwrap().role,
            Role::Operator
        );
        assert_eq!(with("roles", json!("ops")).unwrap().role, Role::Operator);
        let both = json!(["spillway", "other"]);
        assert_eq!(with("aud", both.clone()), Err(NotVouched::Another("azp")));
        let mut asked = good();
        (asked["aud"], asked["azp"]) = (both, json!("spillway"));
        assert!(told(&asked, "roles").is_ok());
    }

    #[test]
    fn what_is_for_another_sign_in_vouches_for_nobody() {
        for (name, value, not) in [
            (
                "iss",
                json!("https://id.example/"),
                NotVouched::Another("iss"),
            ),
            ("aud", json!("other"), NotVouched::Another("aud")),
            ("aud", json!([]), NotVouched::Another("aud")),
            ("azp", json!("other"), NotVouched::Another("azp")),
            ("nonce", json!("m"), NotVouched::Another("nonce")),
            ("nonce", Value::Null, NotVouched::Another("nonce")),
            ("exp", json!(NOW_S - 60), NotVouched::NotNow),
            ("exp", Value::Null, NotVouched::Unreadable),
            ("iat", json!(NOW_S + 61), NotVouched::NotNow),
            ("sub", json!(""), NotVouched::Unreadable),
            (
                "roles",
                json!(["x"]),
                NotVouched::NoRole("roles".to_owned()),
            ),
            ("roles", Value::Null, NotVouched::NoRole("roles".to_owned())),
        ] {
            assert_eq!(with(name, value.clone()), Err(not), "{name} {value}");
        }
        assert!(with("exp", json!(NOW_S - 59)).is_ok(), "clocks differ");
    }

    #[test]
    fn names_are_made_to_fit() {
        let called = |value: Value| with("preferred_username", value).unwrap().name;
        assert_eq!(called(json!(" a\r\nb ")), "ab");
        assert_eq!(called(json!("x".repeat(100))).len(), NAME_CHARS_MAX);
        assert_eq!(called(json!(" ")), "7", "the subject at last");
    }

    #[test]
    fn what_is_no_token_is_none() {
        let roles = BTreeMap::new();
        let expected = Expected {
            issuer: "",
            client_id: "",
            nonce: "",
            now_s: 0,
            roles_claim: "",
            roles: &roles,
        };
        for text in ["", "a.b", "a.b.c.d", "a.!.c", "a.W10.c"] {
            assert_eq!(
                vouched(text, expected),
                Err(NotVouched::Unreadable),
                "{text}"
            );
        }
    }
}
