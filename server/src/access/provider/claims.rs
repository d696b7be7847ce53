//! What a provider says of somebody: the claims of an ID token that it signed.
//!
//! The library verifies signature, issuer, audience, times and nonce as OpenID Connect Core 3.1.3.7
//! asks; `azp` it leaves to others, and what the claims mean is of this product.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use openidconnect::{ClaimsVerificationError, Nonce, SignatureVerificationError};
use serde_json::Value;

use super::known::{Claims, IdToken, Known, verifier};
use crate::access::Role;

/// How far clocks may be apart.
const SKEW: Duration = Duration::from_secs(60);

/// The longest subject, in bytes (OpenID Connect Core, 2: 255 ASCII characters).
const SUBJECT_BYTES_MAX: usize = 255;

/// What has to be true of the claims, and what they mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a Nonce,
    pub(super) now: Timestamp,
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
    /// None of the provider's keys is named as the one that signed it.
    #[error("the provider's ID token is not signed by one of its own keys")]
    UnknownKey,
    /// The signature is wrong, missing, or of a kind that is not taken.
    #[error(
        "the provider's ID token is not signed as it has to be: let it sign by RS256, or by \
         another of RS, PS, ES or EdDSA"
    )]
    Unsigned,
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
pub(super) fn vouched(
    id_token: &IdToken,
    known: &Known,
    expected: &Expected<'_>,
) -> Result<Vouched, NotVouched> {
    let claims = verified(id_token, known, expected).map_err(not_verified)?;
    authorized(claims, expected.client_id)?;
    let subject = claims.subject().as_str();
    if subject.is_empty() || subject.len() > SUBJECT_BYTES_MAX {
        return Err(NotVouched::Unreadable);
    }
    let all = serde_json::to_value(claims).map_err(|_| NotVouched::Unreadable)?;
    let role = role(&all, expected.roles_claim, expected.roles);
    Ok(Vouched {
        subject: format!("{}\n{subject}", expected.issuer),
        name: name(&all, subject),
        role: role.ok_or_else(|| NotVouched::NoRole(expected.roles_claim.to_owned()))?,
    })
}

/// Its claims, if it is good by a clock that may be a minute before or behind ours.
fn verified<'a>(
    id_token: &'a IdToken,
    known: &Known,
    expected: &Expected<'_>,
) -> Result<&'a Claims, ClaimsVerificationError> {
    let now_ms = u64::try_from(expected.now.as_millisecond()).unwrap_or_default();
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now_ms);
    let before = now.checked_sub(SKEW).unwrap_or(now);
    let behind = now + SKEW;
    let verifier = verifier(known)
        .set_time_fn(move || before.into())
        .set_issue_time_verifier_fn(move |issued| match SystemTime::from(issued) <= behind {
            true => Ok(()),
            false => Err("issued later than now".to_owned()),
        })
        // Where it is for others, too, `azp` says who asked: see `authorized`.
        .set_other_audience_verifier_fn(|_| true);
    id_token.claims(&verifier, expected.nonce)
}

fn not_verified(error: ClaimsVerificationError) -> NotVouched {
    use ClaimsVerificationError as Not;
    match error {
        Not::InvalidIssuer(_) => NotVouched::Another("iss"),
        Not::InvalidAudience(_) => NotVouched::Another("aud"),
        Not::InvalidNonce(_) => NotVouched::Another("nonce"),
        Not::Expired(_) => NotVouched::NotNow,
        Not::SignatureVerification(SignatureVerificationError::NoMatchingKey) => {
            NotVouched::UnknownKey
        }
        Not::SignatureVerification(_) => NotVouched::Unsigned,
        _ => NotVouched::Unreadable,
    }
}

/// Where it is for others, too, this client asked for it (OpenID Connect Core 3.1.3.7, 4 and 5).
fn authorized(claims: &Claims, client_id: &str) -> Result<(), NotVouched> {
    let is_alone = claims.audiences().len() == 1;
    match claims.authorized_party().map(|it| it.as_str()) {
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
pub(super) const NAME_CHARS_MAX: usize = 54;
