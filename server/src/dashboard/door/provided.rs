//! Signing in by an identity provider: there, and back.

use axum::{
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use jiff::Timestamp;
use spillway_app::{Door, Said};

use super::{Fields, enter, local, sentence};
use crate::{
    access::{
        Person,
        people::NotSignedIn,
        provider::{Answer, NotProvided, Provider, Vouched},
    },
    audit::{Act, Actor, By, action},
    dashboard::Pages,
    http::{Auth, Problem, see_other},
    store::Error,
};

/// The cookie of somebody who is at the provider's, with TLS and without.
const SECURE_NAME: &str = "__Host-spillway-there";
const PLAIN_NAME: &str = "spillway_there";

/// Why an account that the provider vouches for lets nobody in.
const DISABLED: &str = "Your account here is disabled, or was removed. An admin can say more.";

pub(super) async fn begin(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let Some(provider) = pages.entrance.provider.clone() else {
        return pages.nowhere(request).await;
    };
    let fields = Fields::in_address(query.as_deref());
    match provider.begin(local(fields.get("to"))).await {
        Ok(begun) => {
            let mut away = see_other(&begun.to);
            set(away.headers_mut(), &pages.cookie(&begun.cookie, 600));
            away
        }
        Err(not) => pages.not_provided(&not),
    }
}

pub(super) async fn finish(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let Some(provider) = pages.entrance.provider.clone() else {
        return pages.nowhere(request).await;
    };
    let (parts, _) = request.into_parts();
    let Some(auth) = parts.extensions.get::<Auth>().cloned() else {
        return Problem::not_found().into_response();
    };
    let mut answer = match pages.vouched(&provider, &parts, query.as_deref()).await {
        Ok((vouched, to)) => pages.let_in(auth, &parts, vouched, &to).await,
        Err(not @ NotProvided::NotVouched(_)) => {
            // The provider knows who it is: nobody else can have such an attempt written down.
            match pages.refused(&parts, &not.to_string()).await {
                Ok(()) => pages.not_provided(&not),
                Err(_) => super::unwritten(),
            }
        }
        Err(not) => pages.not_provided(&not),
    };
    // It is of no use any more.
    set(answer.headers_mut(), &pages.cookie("", 0));
    answer
}

fn set(headers: &mut http::HeaderMap, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        headers.append(header::SET_COOKIE, cookie);
    }
}

impl Pages {
    async fn vouched(
        &self,
        provider: &Provider,
        parts: &Parts,
        query: Option<&str>,
    ) -> Result<(Vouched, String), NotProvided> {
        let fields = Fields::in_address(query);
        let cookie = self.shown(parts).unwrap_or_default();
        let answer = Answer {
            cookie: &cookie,
            state: fields.get("state"),
            code: fields.get("code"),
            error: fields.get("error"),
        };
        provider.finish(answer, Timestamp::now()).await
    }

    async fn let_in(&self, auth: Auth, parts: &Parts, vouched: Vouched, to: &str) -> Response {
        let (now, by) = (Timestamp::now(), self.entrance.trail.by(parts));
        let by = By {
            actor: Actor::anyone(),
            ..by.because("by the identity provider")
        };
        let person = auth.backend.provided(vouched, now, &by).await;
        let person = match person {
            Ok(Some(person)) => person,
            Ok(None) => {
                return match self.refused(parts, DISABLED).await {
                    Ok(()) => self.shut_out(StatusCode::FORBIDDEN, DISABLED.to_owned()),
                    Err(_) => super::unwritten(),
                };
            }
            Err(NotSignedIn::Store(error @ (Error::LastAdmin | Error::TooManyAccounts(_)))) => {
                return self.shut_out(StatusCode::CONFLICT, sentence(&error));
            }
            Err(not) => {
                let super::Refused { status, text, .. } = super::Refused::from(&not);
                return self.shut_out(status, text);
            }
        };
        if self.written(&person, now, &by).await.is_err() {
            return super::unwritten();
        }
        enter(auth, &person, local(to)).await
    }

    /// Writes down that somebody whom the provider knows was not let in.
    async fn refused(&self, parts: &Parts, why: &str) -> Result<(), Error> {
        let by = By {
            actor: Actor::anyone(),
            ..self.entrance.trail.by(parts).because(why)
        };
        let now_ms = Timestamp::now().as_millisecond();
        let subject = "account:unknown".to_owned();
        let act = Act::new(now_ms, &by, action::SESSION_REFUSE, subject);
        self.entrance.trail.store.record(&act).await
    }

    async fn written(&self, person: &Person, now: Timestamp, by: &By) -> Result<(), Error> {
        let by = By {
            actor: Actor::person(person),
            ..by.clone()
        };
        let subject = format!("account:{}", person.id);
        let act = Act::new(now.as_millisecond(), &by, action::SESSION_START, subject);
        self.entrance.trail.store.record(&act).await
    }

    fn not_provided(&self, not: &NotProvided) -> Response {
        let status = match not {
            NotProvided::Unanswered(_) => {
                let error = not as &dyn std::error::Error;
                tracing::warn!(error, "nobody can sign in by the identity provider now");
                StatusCode::BAD_GATEWAY
            }
            NotProvided::Over => StatusCode::GONE,
            NotProvided::Refused(_) | NotProvided::NotVouched(_) => {
                tracing::info!(why = %not, "the identity provider let nobody in");
                StatusCode::FORBIDDEN
            }
        };
        self.shut_out(status, sentence(not))
    }

    fn shut_out(&self, status: StatusCode, text: String) -> Response {
        let said = Some(Said::Wrong(text));
        let door = Door::SignIn {
            to: "/".to_owned(),
            name: String::new(),
            said,
            guests: self.entrance.access.is_open(),
            provider: self.provider_name(),
        };
        self.door(status, door)
    }

    /// What the way in by a provider is called, if there is one.
    pub(super) fn provider_name(&self) -> Option<String> {
        let provider = self.entrance.provider.as_ref();
        provider.map(|provider| provider.name().to_owned())
    }

    fn is_secure(&self) -> bool {
        self.entrance.public_url.starts_with("https://")
    }

    fn cookie_name(&self) -> &'static str {
        if self.is_secure() {
            SECURE_NAME
        } else {
            PLAIN_NAME
        }
    }

    /// `Lax`: the provider's page leads back by a link.
    fn cookie(&self, value: &str, lasts_s: u32) -> String {
        let name = self.cookie_name();
        let secure = if self.is_secure() { "; Secure" } else { "" };
        format!("{name}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age={lasts_s}{secure}")
    }

    /// What the cookie holds that the browser shows.
    fn shown(&self, parts: &Parts) -> Option<String> {
        let cookies = parts.headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
        let mut cookies = cookies.flat_map(|cookies| cookies.split(';'));
        cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == self.cookie_name()).then(|| value.to_owned())
        })
    }
}
