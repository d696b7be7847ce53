//! What a call's `Authorization` says about who calls, without its issuer's word for it.
//!
//! The claims of a JSON web token are read, not verified: only the upstream can tell
//! whether they are true. Anything else is opaque and stands for itself, under a keyed
//! hash, so that neither a log nor the journal ever holds a credential.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use serde::Deserialize;
use sha2::Sha256;

/// The longest payload of a token whose claims are read, in bytes of base64: tokens of
/// Entra stay below 8 KiB even with two hundred groups.
const PAYLOAD_BYTES_MAX: usize = 16 * 1024;

/// How many bytes of a hash make a key: 128 bits, so that no two callers share one.
const HASH_BYTES: usize = 16;

/// Keys the hashes of what must not be stored. Whoever keeps counters across restarts
/// must keep this too, else every opaque caller looks new and its old calls are forgotten.
#[derive(Clone)]
pub struct KeySecret([u8; 32]);

impl KeySecret {
    /// A secret of this process's own.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// The short keyed hash of `text` in the space of `purpose`: `hmac:…`.
    pub(super) fn key(&self, purpose: &str, text: &[u8]) -> String {
        let hash = self.hash(purpose, text);
        let short = hash.get(..HASH_BYTES).unwrap_or(&hash);
        format!("hmac:{}", URL_SAFE_NO_PAD.encode(short))
    }

    /// A secret of another purpose, from which this one cannot be found out. No other may have
    /// the same purpose, nor one of those that [`KeySecret::key`] is called with.
    pub(crate) fn derived(&self, purpose: &str) -> [u8; 32] {
        self.hash(purpose, &[])
    }

    fn hash(&self, purpose: &str, text: &[u8]) -> [u8; 32] {
        // A block of the hash, filled up with zeros as HMAC itself does (RFC 2104, 2): of that
        // length no key is refused.
        let mut key = [0; 64];
        key[..self.0.len()].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new((&key).into());
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(text);
        mac.finalize().into_bytes().into()
    }
}

impl From<[u8; 32]> for KeySecret {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// A secret is never shown.
impl std::fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeySecret")
    }
}

/// Who a credential says the caller is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bearer<'a> {
    /// A JSON web token that names its user.
    Claims(Claims),
    /// Anything else: the whole credential, which stands for its user.
    Opaque(&'a [u8]),
}

/// The claims that tell users, tenants and apps apart; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    /// `oid`, else `sub`.
    pub user: String,
    /// `tid`.
    pub tenant: String,
    /// `appid`, else `azp`.
    pub app: String,
}

/// More than one `Authorization`: which of them the upstream takes is anyone's guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than one Authorization header")]
pub(super) struct Ambiguous;

/// The credential of a call, if it has one.
pub(super) fn bearer(headers: &HeaderMap) -> Result<Option<Bearer<'_>>, Ambiguous> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(Ambiguous);
    }
    Ok(first.and_then(read))
}

fn read(value: &HeaderValue) -> Option<Bearer<'_>> {
    let whole = value.as_bytes().trim_ascii();
    if whole.is_empty() {
        return None;
    }
    let token = match whole.split_at_checked("bearer ".len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
        _ if whole.eq_ignore_ascii_case(b"bearer") => return None,
        _ => return Some(Bearer::Opaque(whole)),
    };
    Some(claims(token).map_or(Bearer::Opaque(token), Bearer::Claims))
}

/// The claims of a token with three parts whose second is JSON and names a user.
fn claims(token: &[u8]) -> Option<Claims> {
    #[derive(Deserialize)]
    struct Payload {
        oid: Option<String>,
        sub: Option<String>,
        tid: Option<String>,
        appid: Option<String>,
        azp: Option<String>,
    }

    let mut parts = token.split(|&byte| byte == b'.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || payload.len() > PAYLOAD_BYTES_MAX {
        return None;
    }
    let json = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let payload: Payload = serde_json::from_slice(&json).ok()?;
    let some = |claim: Option<String>| claim.filter(|text| !text.is_empty());
    Some(Claims {
        user: some(payload.oid).or(some(payload.sub))?,
        tenant: payload.tid.unwrap_or_default(),
        app: some(payload.appid)
            .or(some(payload.azp))
            .unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, value.parse().unwrap());
        headers
    }

    fn token(payload: &str) -> String {
        format!("Bearer e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
    }

    fn read_claims(payload: &str) -> Option<Claims> {
        match bearer(&headers(&token(payload))).unwrap() {
            Some(Bearer::Claims(claims)) => Some(claims),
            _ => None,
        }
    }

    #[test]
    fn claims_name_user_tenant_and_app() {
        let all = read_claims(r#"{"oid":"o","sub":"s","tid":"t","appid":"a","azp":"z"}"#).unwrap();
        assert_eq!(
            (all.user.as_str(), all.tenant.as_str(), all.app.as_str()),
            ("o", "t", "a")
        );
        let other = read_claims(r#"{"oid":"","sub":"s","azp":"z"}"#).unwrap();
        assert_eq!(
            (
                other.user.as_str(),
                other.tenant.as_str(),
                other.app.as_str()
            ),
            ("s", "", "z")
        );
    }

    #[test]
    fn what_names_no_user_is_opaque() {
        for payload in [
            "",
            "[]",
            "{}",
            r#"{"tid":"t"}"#,
            r#"{"oid":7}"#,
            r#"{"sub":""}"#,
        ] {
            assert_eq!(read_claims(payload), None, "{payload}");
        }
        for value in [
            "Bearer ntn_123",
            "bearer a.b",
            "Bearer a.b.c.d",
            "Basic dTpw",
        ] {
            let headers = headers(value);
            assert!(
                matches!(bearer(&headers), Ok(Some(Bearer::Opaque(_)))),
                "{value}"
            );
        }
    }

    #[test]
    fn nothing_is_nobody_and_two_are_ambiguous() {
        for value in ["", " ", "Bearer", "Bearer "] {
            assert_eq!(bearer(&headers(value)), Ok(None), "{value:?}");
        }
        assert_eq!(bearer(&HeaderMap::new()), Ok(None));
        let mut two = headers("Bearer a");
        two.append(AUTHORIZATION, "Bearer b".parse().unwrap());
        assert_eq!(bearer(&two), Err(Ambiguous));
    }

    #[test]
    fn hashes_differ_by_secret_purpose_and_text_and_show_nothing() {
        let secret = KeySecret::from([7; 32]);
        let key = secret.key("bearer", b"ntn_123");
        assert_eq!(key, secret.key("bearer", b"ntn_123"));
        assert_eq!(key.len(), "hmac:".len() + 22);
        for other in [
            secret.key("bearer", b"ntn_124"),
            secret.key("user", b"ntn_123"),
            KeySecret::from([8; 32]).key("bearer", b"ntn_123"),
        ] {
            assert_ne!(key, other);
        }
        assert_eq!(format!("{secret:?}"), "KeySecret");
    }
}
