//! Signing in by an identity provider: OpenID Connect's authorization code flow, with PKCE, as the
//! library has it.
//!
//! Somebody who begins is given a cookie for as long as it takes; `state`, `nonce` and the code's
//! proof belong to it and are kept here, in memory. The code that comes back is changed for an ID
//! token at the provider itself, signed by one of its keys, whose [`claims`] say who it is and what
//! they may do. Its address is the configuration's; what else it is asked at is what it says there
//! of itself, over TLS.

mod claims;
mod fetch;
mod known;
mod pending;
#[cfg(test)]
mod tests;

use std::{io, sync::Arc, time::Duration};

use jiff::Timestamp;
use openidconnect::{
    AuthorizationCode, CsrfToken, IssuerUrl, Nonce, PkceCodeChallenge, RedirectUrl, Scope,
    TokenResponse as _,
    core::{CoreAuthenticationFlow, CoreProviderMetadata},
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

pub use claims::{NotVouched, Vouched};
pub use fetch::Unanswered;

use crate::config::Oidc;
use claims::{Expected, vouched};
use fetch::{ANSWER_MAX, Client, undiscovered};
use known::{IdToken, Known, Tokens, known};
use pending::{Pending, Waiting};

/// How long what the provider says of itself counts.
const KNOWN_FOR: Duration = Duration::from_secs(3_600);

/// An identity provider. Clones share it.
#[derive(Clone, Debug)]
pub struct Provider(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Oidc,
    issuer: IssuerUrl,
    /// Where it sends people back to.
    back: RedirectUrl,
    client: Client,
    known: Mutex<Option<(Known, Instant)>>,
    waiting: Waiting,
}

/// Why nobody is signed in by it.
#[derive(Debug, thiserror::Error)]
pub enum NotProvided {
    /// It does not answer, or not as one does.
    #[error("the identity provider does not answer as it should")]
    Unanswered(#[from] Unanswered),
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
    /// The system trusts no certificates, or an address is none.
    pub fn new(config: Oidc, public_url: &str) -> io::Result<Self> {
        let back = RedirectUrl::new(format!("{public_url}/sign-in/callback"));
        Ok(Self(Arc::new(Inner {
            client: Client::new(&config.address)?,
            issuer: IssuerUrl::new(config.issuer.clone()).map_err(io::Error::other)?,
            back: back.map_err(io::Error::other)?,
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
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let page = known.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        let scopes = ["profile", "email"].map(|scope| Scope::new(scope.to_owned()));
        let page = page.add_scopes(scopes).set_pkce_challenge(challenge);
        let (page, state, nonce) = page.url();
        let pending = Pending {
            state,
            nonce,
            verifier,
            to: to.to_owned(),
        };
        Ok(Begun {
            to: page.into(),
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
        let pending = pending.filter(|it| it.state.secret() == answer.state);
        let pending = pending.ok_or(NotProvided::Over)?;
        if answer.code.is_empty() {
            let why: String = answer.error.chars().take(200).collect();
            return Err(NotProvided::Refused(why));
        }
        let known = inner.known().await?;
        let tokens = inner.tokens(&known, answer.code, pending.verifier).await?;
        let id_token = tokens.id_token().ok_or(NotVouched::Unreadable)?;
        let vouched = inner.vouched(&known, id_token, &pending.nonce, now).await?;
        Ok((vouched, pending.to))
    }
}

impl Inner {
    /// What the provider says of itself, asked at most once an hour, by one at a time.
    async fn known(&self) -> Result<Known, NotProvided> {
        let known = timeout(ANSWER_MAX, self.known.lock()).await;
        let mut known = known.map_err(|_| Unanswered::Late)?;
        if let Some((known, at)) = &*known
            && at.elapsed() < KNOWN_FOR
        {
            return Ok(known.clone());
        }
        let found = self.discovered().await?;
        *known = Some((found.clone(), Instant::now()));
        Ok(found)
    }

    async fn discovered(&self) -> Result<Known, Unanswered> {
        let said = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.client);
        let said = said.await.map_err(undiscovered)?;
        let page = said.authorization_endpoint().to_string();
        match page.parse() {
            Ok(page) if self.client.is_safe(&page) => {}
            _ => return Err(Unanswered::Unsafe(page)),
        }
        Ok(known(said, &self.config, self.back.clone()))
    }

    /// Changes the code for tokens, at the provider.
    async fn tokens(
        &self,
        known: &Known,
        code: &str,
        verifier: openidconnect::PkceCodeVerifier,
    ) -> Result<Tokens, Unanswered> {
        let code = known.exchange_code(AuthorizationCode::new(code.to_owned()));
        // It named no token endpoint.
        let code = code.map_err(|error| Unanswered::Unclear(error.to_string()))?;
        let code = code.set_pkce_verifier(verifier);
        Ok(code.request_async(&self.client).await?)
    }

    /// Whom the ID token vouches for. A key that is not known yet may be new: providers change
    /// theirs, so it is asked once more.
    async fn vouched(
        &self,
        known: &Known,
        id_token: &IdToken,
        nonce: &Nonce,
        now: Timestamp,
    ) -> Result<Vouched, NotProvided> {
        let expected = Expected {
            nonce,
            now,
            issuer: &self.config.issuer,
            client_id: &self.config.client_id,
            roles_claim: &self.config.roles_claim,
            roles: &self.config.roles,
        };
        match vouched(id_token, known, &expected) {
            Err(NotVouched::UnknownKey) => {}
            whom => return Ok(whom?),
        }
        let found = self.discovered().await?;
        let whom = vouched(id_token, &found, &expected);
        *self.known.lock().await = Some((found, Instant::now()));
        Ok(whom?)
    }
}
