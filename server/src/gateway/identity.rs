//! Whose budget a call is charged to.
//!
//! What a credential claims is not verified here. So what the caller's token, or its network,
//! says of its app counts first; and only those who may name users do so by `Spillway-User`.
//! Where the gateway is open that is everybody.

use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};

use super::{
    bearer::{Bearer, Claims, KeySecret, bearer},
    request_headers::Asked,
};
use crate::{
    access::{Caller, Denied},
    config::UserFrom,
};

/// The longest key kept as it is, in bytes; longer ones are hashed. Enough for an
/// address of 254 bytes or any identifier of the known upstreams.
const KEY_BYTES_MAX: usize = 256;

/// The keys of a call's budgets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The application, never empty.
    pub app: String,
    /// The tenant, empty where none is known.
    pub tenant: String,
    /// The user, never empty.
    pub user: String,
}

/// Why a call can be charged to nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Nothing says who calls.
    #[error("nobody to charge: {0}")]
    Nobody(&'static str),
    /// Two credentials.
    #[error("send one Authorization header, not several")]
    Ambiguous,
    /// A control character in a key.
    #[error("the {0}'s key may not hold a control character")]
    Control(&'static str),
    /// The caller may not name whom it names.
    #[error(transparent)]
    Denied(#[from] Denied),
}

/// Reads identities for one upstream.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The app of calls that name none.
    pub app: String,
    /// Where the user's key comes from.
    pub user_from: UserFrom,
    /// Keys the hashes of opaque credentials and overlong keys.
    pub secret: KeySecret,
}

impl Reader {
    /// The keys of a call with these headers to `path`, percent-decoded.
    ///
    /// # Errors
    /// If nothing names a user, or a key is unusable.
    pub fn identity(
        &self,
        caller: &Caller,
        asked: &Asked,
        headers: &HeaderMap,
        path: &str,
    ) -> Result<Identity, IdentityError> {
        if asked.user.is_some() {
            caller.may_name_users()?;
        }
        let claims = self.claims(headers)?;
        let user = match (&asked.user, self.user_from) {
            (Some(user), _) => Some(user.clone()),
            (None, UserFrom::Header) => None,
            (None, UserFrom::Path) => user_in(path).or(Some(claims.user)),
            (None, UserFrom::Token) => Some(claims.user),
        };
        let user = user.filter(|user| !user.is_empty()).ok_or(self.nobody())?;
        Ok(Identity {
            app: self.app(caller, asked, &claims.app)?,
            tenant: self.bounded("tenant", claims.tenant)?,
            user: self.bounded("user", user)?,
        })
    }

    /// The keys of a call that meets limits of its app alone: for whomever it is, the app is
    /// charged as if it called for itself.
    ///
    /// # Errors
    /// If a key is unusable.
    pub fn of_app(
        &self,
        caller: &Caller,
        asked: &Asked,
        headers: &HeaderMap,
    ) -> Result<Identity, IdentityError> {
        let app = self.app(caller, asked, &self.claims(headers)?.app)?;
        Ok(Identity {
            user: app.clone(),
            tenant: String::new(),
            app,
        })
    }

    /// The app that the call names, else its caller, else its credential, else the
    /// configuration.
    fn app(&self, caller: &Caller, asked: &Asked, claimed: &str) -> Result<String, IdentityError> {
        let app = caller.app(asked.app.as_deref(), claimed, &self.app)?;
        self.bounded("app", app)
    }

    /// What the credential says; an opaque one stands for its user, under a hash.
    fn claims(&self, headers: &HeaderMap) -> Result<Claims, IdentityError> {
        let bearer = bearer(headers).map_err(|_| IdentityError::Ambiguous)?;
        Ok(match bearer {
            None => Claims::default(),
            Some(Bearer::Claims(claims)) => claims,
            Some(Bearer::Opaque(credential)) => Claims {
                user: self.secret.key("bearer", credential),
                ..Claims::default()
            },
        })
    }

    /// What the call's credential for the upstream is known by; `None`: it has none. The scheme
    /// is left out, which may be written in several ways.
    ///
    /// # Errors
    /// It has two.
    pub fn credential(&self, headers: &HeaderMap) -> Result<Option<String>, IdentityError> {
        if bearer(headers)
            .map_err(|_| IdentityError::Ambiguous)?
            .is_none()
        {
            return Ok(None);
        }
        let value = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let whole = value.unwrap_or_default().trim_ascii();
        let mut words = whole.splitn(2, u8::is_ascii_whitespace);
        let (first, rest) = (words.next().unwrap_or_default(), words.next());
        let credential = rest.unwrap_or(first).trim_ascii();
        Ok(Some(self.secret.key("standing", credential)))
    }

    fn nobody(&self) -> IdentityError {
        IdentityError::Nobody(match self.user_from {
            UserFrom::Token => "send the upstream's token in Authorization, or Spillway-User",
            UserFrom::Header => "send Spillway-User",
            UserFrom::Path => {
                "name the user in the path (/users/{id}), send the upstream's token in \
                 Authorization, or Spillway-User"
            }
        })
    }

    fn bounded(&self, what: &'static str, key: String) -> Result<String, IdentityError> {
        if key.chars().any(char::is_control) {
            return Err(IdentityError::Control(what));
        }
        if key.len() > KEY_BYTES_MAX {
            return Ok(self.secret.key(what, key.as_bytes()));
        }
        Ok(key)
    }
}

/// The user in `…/users/{id}/…` or `…/users('{id}')/…`, in lower case: the upstreams that
/// put users into paths compare their names and ids without regard to it.
fn user_in(path: &str) -> Option<String> {
    let mut segments = path.split('/');
    while let Some(segment) = segments.next() {
        let Some((name, rest)) = segment.split_at_checked("users".len()) else {
            continue;
        };
        if !name.eq_ignore_ascii_case("users") {
            continue;
        }
        let user = if rest.is_empty() {
            segments.next().map(str::to_owned)
        } else {
            quoted(rest)
        };
        return user
            .filter(|user| !user.is_empty())
            .map(|user| user.to_lowercase());
    }
    None
}

/// The text in `('…')`, where OData doubles each quote.
fn quoted(parentheses: &str) -> Option<String> {
    let inner = parentheses.strip_prefix("('")?.strip_suffix("')")?;
    Some(inner.replace("''", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

    fn reader(user_from: UserFrom) -> Reader {
        Reader {
            app: "house".to_owned(),
            user_from,
            secret: KeySecret::from([1; 32]),
        }
    }

    fn with_token(payload: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let value = format!("Bearer e30.{}.x", URL_SAFE_NO_PAD.encode(payload));
        headers.insert("authorization", value.parse().unwrap());
        headers
    }

    fn user(name: &str) -> Asked {
        Asked {
            user: Some(name.to_owned()),
            ..Asked::default()
        }
    }

    #[test]
    fn a_token_names_all_three() {
        let headers = with_token(r#"{"oid":"o","tid":"t","appid":"a"}"#);
        let found = reader(UserFrom::Token)
            .identity(&Caller::Anyone, &Asked::default(), &headers, "/")
            .unwrap();
        assert_eq!(
            found,
            Identity {
                app: "a".into(),
                tenant: "t".into(),
                user: "o".into()
            }
        );
    }

    #[test]
    fn headers_name_user_and_app_before_the_token() {
        let headers = with_token(r#"{"oid":"o","appid":"a"}"#);
        let asked = Asked {
            app: Some("b".to_owned()),
            ..user("u")
        };
        let found = reader(UserFrom::Token)
            .identity(&Caller::Anyone, &asked, &headers, "/")
            .unwrap();
        assert_eq!((found.user.as_str(), found.app.as_str()), ("u", "b"));
    }

    #[test]
    fn opaque_credentials_are_hashed_apart_and_use_the_configured_app() {
        let keys: Vec<_> = ["Bearer ntn_1", "Bearer ntn_2"]
            .map(|value| {
                let mut headers = HeaderMap::new();
                headers.insert("authorization", value.parse().unwrap());
                let found = reader(UserFrom::Token).identity(
                    &Caller::Anyone,
                    &Asked::default(),
                    &headers,
                    "/",
                );
                let found = found.unwrap();
                assert_eq!(found.app, "house");
                assert!(found.user.starts_with("hmac:") && !found.user.contains("ntn"));
                found.user
            })
            .into();
        assert_ne!(keys[0], keys[1]);
    }

    #[test]
    fn a_path_names_the_user_and_me_is_the_token_s() {
        let headers = with_token(r#"{"oid":"o"}"#);
        let reader = reader(UserFrom::Path);
        for (path, expected) in [
            ("/v1.0/users/Ann@B.example/onenote", "ann@b.example"),
            (
                "/v1.0/users('O''Neil@b.example')/onenote",
                "o'neil@b.example",
            ),
            ("/v1.0/Users/7", "7"),
            ("/v1.0/users/", "o"),
            ("/v1.0/users", "o"),
            ("/v1.0/users('')/x", "o"),
            ("/v1.0/usersettings/1", "o"),
            ("/v1.0/me/onenote", "o"),
            ("/é/x", "o"),
        ] {
            let found = reader
                .identity(&Caller::Anyone, &Asked::default(), &headers, path)
                .unwrap();
            assert_eq!(found.user, expected, "{path}");
        }
    }

    #[test]
    fn nobody_is_told_what_to_send() {
        for from in [UserFrom::Token, UserFrom::Header, UserFrom::Path] {
            let nobody =
                reader(from).identity(&Caller::Anyone, &Asked::default(), &HeaderMap::new(), "/me");
            assert!(nobody.unwrap_err().to_string().contains("Spillway-User"));
        }
        let headers = with_token(r#"{"oid":"o"}"#);
        let nobody =
            reader(UserFrom::Header).identity(&Caller::Anyone, &Asked::default(), &headers, "/me");
        assert!(matches!(nobody, Err(IdentityError::Nobody(_))));
    }

    #[test]
    fn keys_are_bounded_and_plain() {
        let reader = reader(UserFrom::Token);
        let nothing = HeaderMap::new();
        let kept = reader
            .identity(&Caller::Anyone, &user(&"k".repeat(256)), &nothing, "/")
            .unwrap();
        assert_eq!(kept.user.len(), 256);
        let hashed = reader
            .identity(&Caller::Anyone, &user(&"k".repeat(257)), &nothing, "/")
            .unwrap();
        assert!(hashed.user.starts_with("hmac:"));
        let control = with_token(r#"{"oid":"a\u0000b"}"#);
        assert_eq!(
            reader.identity(&Caller::Anyone, &Asked::default(), &control, "/"),
            Err(IdentityError::Control("user"))
        );
    }
}
