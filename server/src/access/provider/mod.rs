//! Signing in by an identity provider: OpenID Connect's authorization code flow, with PKCE.
//!
//! Somebody who begins is given a cookie for as long as it takes; `state`, `nonce` and the code's
//! proof belong to it and are kept here, in memory. The code that comes back is changed for an ID token
//! at the provider itself, whose [`claims`] say who it is and what they may do. Its address is the
//! configuration's; what else it is asked at is what it says there of itself, over TLS.

mod claims;
mod fetch;
mod pending;

use std::{io, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::{sync::Mutex, time::Instant};

pub use claims::{NotVouched, Vouched};
pub use fetch::Unanswered;

use crate::config::Oidc;
use claims::{Expected, vouched};
use fetch::{Client, Form};
use pending::{Pending, Waiting};

/// How long what the provider says of itself counts.
const KNOWN_FOR: std::time::Duration = std::time::Duration::from_secs(3_600);

/// An identity provider. Clones share it.
#[derive(Clone, Debug)]
pub struct Provider(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Oidc,
    /// Where it sends people back to.
    redirect_uri: String,
    client: Client,
    known: Mutex<Option<(Known, Instant)>>,
    waiting: Waiting,
}

/// What the provider says of itself (OpenID Connect Discovery, 3).
#[derive(Clone, Debug, Deserialize)]
struct Known {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
}

/// What the token endpoint answers.
#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
}

/// Why nobody is signed in by it.
#[derive(Debug, thiserror::Error)]
pub enum NotProvided {
    /// It does not answer, or not as one does.
    #[error("the identity provider does not answer as it should")]
    Unanswered(#[from] Unanswered),
    /// It says of itself that it is another.
    #[error("the identity provider says that its issuer is \"{}\": set oidc.issuer to exactly that", .0.escape_debug())]
    Issuer(String),
    /// It would be asked over the network as it is.
    #[error("the identity provider names addresses that are not https")]
    Unsafe,
    /// Nobody waits for this answer: it came too late, twice, or to another browser.
    #[error("this sign-in is over, or was begun in another browser; begin again")]
    Over,
    /// It refuses them, in its words.
    #[error("the identity provider refuses: {}", .0.escape_debug())]
    Refused(String),
    /// It does not vouch for them.
    #[error(transparent)]
    NotVouched(#[from] NotVouched),
}

/// Where somebody who begins goes to, and what their browser is to show when they come back.
#[derive(Debug)]
pub struct Begun {
    /// The provider's page.
    pub to: String,
    /// What the cookie holds.
    pub cookie: String,
}

/// What the browser brings back.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// What its cookie holds.
    pub cookie: &'a str,
    /// What was to come back as it was.
    pub state: &'a str,
    /// What the provider lets change for an ID token; empty: it refuses.
    pub code: &'a str,
    /// Why.
    pub error: &'a str,
}

impl Provider {
    /// The one that is configured; it sends people back to `public_url`.
    ///
    /// # Errors
    /// The system trusts no certificates.
    pub fn new(config: Oidc, public_url: &str) -> io::Result<Self> {
        Ok(Self(Arc::new(Inner {
            client: Client::new(config.address.is_secure())?,
            redirect_uri: format!("{public_url}/sign-in/callback"),
            config,
            known: Mutex::new(None),
            waiting: Waiting::default(),
        })))
    }

    /// What the way in is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.config.name
    }

    /// Somebody begins, to go on to the page at `to`.
    ///
    /// # Errors
    /// See [`NotProvided`].
    pub async fn begin(&self, to: &str) -> Result<Begun, NotProvided> {
        let inner = &*self.0;
        let known = inner.known().await?;
        let pending = Pending::new(to.to_owned());
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&pending.verifier));
        let mut query = Form::default();
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", &inner.config.client_id),
            ("redirect_uri", &inner.redirect_uri),
            ("scope", "openid profile email"),
            ("state", &pending.state),
            ("nonce", &pending.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ] {
            query.add(name, value);
        }
        let at = known.authorization_endpoint;
        let mark = if at.contains('?') { '&' } else { '?' };
        Ok(Begun {
            to: format!("{at}{mark}{}", query.text()),
            cookie: inner.waiting.add(pending, Instant::now()),
        })
    }

    /// Somebody comes back: who it is, and where they go on to.
    ///
    /// # Errors
    /// See [`NotProvided`].
    pub async fn finish(
        &self,
        answer: Answer<'_>,
        now: Timestamp,
    ) -> Result<(Vouched, String), NotProvided> {
        let inner = &*self.0;
        // Whatever becomes of it, nobody comes back twice.
        let pending = inner.waiting.take(answer.cookie, Instant::now());
        let pending = pending.filter(|it| it.state == answer.state);
        let pending = pending.ok_or(NotProvided::Over)?;
        if answer.code.is_empty() {
            let why: String = answer.error.chars().take(200).collect();
            return Err(NotProvided::Refused(why));
        }
        let id_token = inner.id_token(answer.code, &pending.verifier).await?;
        let expected = Expected {
            issuer: &inner.config.issuer,
            client_id: &inner.config.client_id,
            nonce: &pending.nonce,
            now_s: now.as_second(),
            roles_claim: &inner.config.roles_claim,
            roles: &inner.config.roles,
        };
        Ok((vouched(&id_token, expected)?, pending.to))
    }
}

impl Inner {
    /// What the provider says of itself, asked at most once an hour.
    async fn known(&self) -> Result<Known, NotProvided> {
        let mut known = self.known.lock().await;
        if let Some((known, at)) = &*known
            && at.elapsed() < KNOWN_FOR
        {
            return Ok(known.clone());
        }
        let base = self.config.issuer.trim_end_matches('/');
        let address = format!("{base}/.well-known/openid-configuration");
        let said: Known = self.client.get(&address).await?;
        if said.issuer != self.config.issuer {
            return Err(NotProvided::Issuer(said.issuer));
        }
        let is_safe = |address: &str| match self.config.address.is_secure() {
            true => address.starts_with("https://"),
            // A provider on this machine, for trials.
            false => address.starts_with(&self.config.address.to_string()),
        };
        if !is_safe(&said.token_endpoint) || !is_safe(&said.authorization_endpoint) {
            return Err(NotProvided::Unsafe);
        }
        *known = Some((said.clone(), Instant::now()));
        Ok(said)
    }

    /// Changes the code for an ID token, at the provider.
    async fn id_token(&self, code: &str, verifier: &str) -> Result<String, NotProvided> {
        let known = self.known().await?;
        let mut form = Form::default();
        for (name, value) in [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("client_id", &self.config.client_id),
            ("code_verifier", verifier),
        ] {
            form.add(name, value);
        }
        let secret = self.config.client_secret.as_deref();
        let basic = secret.map(|secret| (self.config.client_id.as_str(), secret));
        let tokens: Tokens = self.client.post(&known.token_endpoint, form, basic).await?;
        tokens.id_token.ok_or_else(|| NotVouched::Unreadable.into())
    }
}
