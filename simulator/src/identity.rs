//! Whose call it is.
//!
//! Real Graph verifies its tokens; here a token is only read. What counts, in this order: the
//! claims of a bearer that is a JWT, an opaque bearer itself, the header `x-sim-user`, the user in
//! the path.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::random::hash;

/// Longer names stand under a digest, so that no key grows without bound.
const NAME_MAX: usize = 256;

/// The longest claims of a token that are read, in bytes of base64: beyond what Microsoft's
/// tokens hold.
const CLAIMS_MAX: usize = 16 * 1024;

/// Who calls: the key of a user's budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) app: String,
    /// Empty where nothing names it.
    pub(crate) tenant: String,
    pub(crate) user: String,
}

/// An unsigned token (without the word `Bearer`) that names a user (`oid`), a tenant (`tid`) and
/// an application (`appid`), as Microsoft's access tokens do.
pub fn bearer(user: &str, tenant: &str, app: &str) -> String {
    let header = serde_json::json!({"alg": "none", "typ": "JWT"});
    let claims = serde_json::json!({
        "aud": "https://graph.microsoft.com",
        "tid": tenant,
        "oid": user,
        "appid": app,
    });
    let part = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
    format!("{}.{}.", part(header), part(claims))
}

/// Who calls, or none where nothing says so.
pub(crate) fn caller(
    headers: &HeaderMap,
    path_user: Option<&str>,
    default_app: &str,
) -> Option<Caller> {
    if let Some(token) = bearer_of(headers) {
        return Some(by_claims(token, default_app).unwrap_or_else(|| by_token(token, default_app)));
    }
    let named = headers
        .get("x-sim-user")
        .and_then(|value| value.to_str().ok());
    let user = named.or(path_user).filter(|user| is_name(user))?;
    Some(Caller {
        app: default_app.to_owned(),
        tenant: String::new(),
        user: user.to_owned(),
    })
}

/// The connection to Notion that calls, or none without a bearer. Its tokens say nothing to
/// others, whatever they look like: each is a connection of its own.
pub(crate) fn connection(headers: &HeaderMap) -> Option<Caller> {
    let token = bearer_of(headers)?;
    Some(Caller {
        app: format!("opaque-{:016x}", hash(0, &[token])),
        tenant: String::new(),
        user: String::new(),
    })
}

#[derive(Deserialize)]
struct Claims {
    tid: Option<String>,
    oid: Option<String>,
    sub: Option<String>,
    appid: Option<String>,
    azp: Option<String>,
}

fn bearer_of(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn by_claims(token: &str, default_app: &str) -> Option<Caller> {
    let mut parts = token.split('.');
    let (_header, claims, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || claims.len() > CLAIMS_MAX {
        return None;
    }
    let json = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Claims = serde_json::from_slice(&json).ok()?;
    let either = |one: Option<String>, other| one.or(other).map(bounded);
    let [oid, sub, appid, azp] = [claims.oid, claims.sub, claims.appid, claims.azp]
        .map(|claim| claim.filter(|c| !c.is_empty()));
    Some(Caller {
        app: either(appid, azp).unwrap_or_else(|| default_app.to_owned()),
        tenant: bounded(claims.tid.unwrap_or_default()),
        user: either(oid, sub)?,
    })
}

fn bounded(name: String) -> String {
    if name.len() > NAME_MAX {
        format!("long-{:016x}", hash(0, &[&name]))
    } else {
        name
    }
}

/// An opaque bearer is its own user, under a digest, so that no token shows in the score.
fn by_token(token: &str, default_app: &str) -> Caller {
    Caller {
        app: default_app.to_owned(),
        tenant: String::new(),
        user: format!("opaque-{:016x}", hash(0, &[token])),
    }
}

fn is_name(text: &str) -> bool {
    (1..=NAME_MAX).contains(&text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    fn who(headers: &HeaderMap, path_user: Option<&str>) -> Option<(String, String, String)> {
        caller(headers, path_user, "app").map(|c| (c.app, c.tenant, c.user))
    }

    fn owned(app: &str, tenant: &str, user: &str) -> Option<(String, String, String)> {
        Some((app.to_owned(), tenant.to_owned(), user.to_owned()))
    }

    #[test]
    fn claims_name_user_tenant_and_app() {
        let headers = with(
            "authorization",
            &format!("Bearer {}", bearer("u/1", "t1", "a1")),
        );
        assert_eq!(who(&headers, Some("other")), owned("a1", "t1", "u/1"));
    }

    #[test]
    fn a_token_without_app_or_tenant_uses_the_defaults() {
        let claims = URL_SAFE_NO_PAD.encode(r#"{"oid":"u1"}"#);
        let headers = with("authorization", &format!("bearer x.{claims}.sig"));
        assert_eq!(who(&headers, None), owned("app", "", "u1"));
    }

    #[test]
    fn other_bearers_are_users_of_their_own_and_never_shown() {
        let four_parts = format!("Bearer {}.x", bearer("u", "t", "a"));
        let too_long = format!("Bearer {}", bearer(&"x".repeat(CLAIMS_MAX), "t", "a"));
        for token in [
            "Bearer secret",
            "Bearer a.b.c",
            "Bearer ..",
            &four_parts,
            &too_long,
        ] {
            let (_, _, user) = who(&with("authorization", token), None).unwrap();
            assert!(user.starts_with("opaque-") && user.len() == 23, "{user}");
        }
        let users = ["Bearer a", "Bearer b"].map(|t| who(&with("authorization", t), None));
        assert_ne!(users[0], users[1]);
    }

    #[test]
    fn long_names_stand_under_a_digest_and_keep_their_app() {
        let of = |user: &str| {
            let token = format!("Bearer {}", bearer(user, "t", "a"));
            who(&with("authorization", &token), None).unwrap()
        };
        let (app, tenant, user) = of(&"x".repeat(257));
        assert_eq!((app.as_str(), tenant.as_str()), ("a", "t"));
        assert!(user.starts_with("long-") && user.len() == 21, "{user}");
        assert_ne!(of(&"x".repeat(258)).2, user);
        assert_eq!(of(&"x".repeat(256)).2, "x".repeat(256));
    }

    #[test]
    fn newer_claims_name_user_and_app_where_the_others_are_missing() {
        let claims = URL_SAFE_NO_PAD.encode(r#"{"oid":"","sub":"s1","azp":"z1"}"#);
        let headers = with("authorization", &format!("Bearer x.{claims}.sig"));
        assert_eq!(who(&headers, None), owned("z1", "", "s1"));
    }

    #[test]
    fn without_a_bearer_the_header_then_the_path_names_the_user() {
        assert_eq!(
            who(&with("x-sim-user", "h1"), Some("p1")),
            owned("app", "", "h1")
        );
        assert_eq!(who(&HeaderMap::new(), Some("p1")), owned("app", "", "p1"));
        assert_eq!(who(&HeaderMap::new(), None), None);
        assert_eq!(who(&with("authorization", "Basic eA=="), None), None);
    }
}
