//! Signing in and out: plain forms, answered by a page that says what is wrong, or by the way to
//! where somebody wanted to go. The first admin is made in [`set_up`].

mod form;
mod provided;
mod set_up;
mod welcome;

use std::net::{IpAddr, Ipv4Addr};

use axum::{
    Router,
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{StatusCode, header, request::Parts};
use jiff::Timestamp;
use spillway_app::{Door, Said};

use super::Pages;
use crate::{
    access::{
        Person,
        password::{NotHashed, Password},
        people::{Attempt, NotSignedIn, Outcome},
        set_up::NotSetUp,
    },
    audit::{Act, Actor, By, Trail, action},
    http::{Auth, Peer, Problem, see_other},
};
use form::local;
pub(super) use form::{Asked, Fields, form, sentence};

/// When to come back while too many sign in at once, in seconds.
const BUSY_RETRY_AFTER_S: u64 = 5;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/sign-in", get(show_sign_in).post(sign_in))
        .route("/sign-in/provider", get(provided::begin))
        .route("/sign-in/callback", get(provided::finish))
        .route("/sign-out", post(sign_out))
        .route("/set-up", get(set_up::show).post(set_up::make))
        .route("/welcome", get(welcome::show).post(welcome::choose))
}

async fn show_sign_in(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let asked = Asked::in_address(query.as_deref());
    if pages.entrance.access.people().is_none() {
        return pages.nowhere(request).await;
    }
    if auth(&request).is_some_and(|auth| auth.user.is_some()) {
        return see_other(local(&asked.to));
    }
    let said = asked
        .out
        .map(|_| Said::Done("You are signed out.".to_owned()));
    let door = pages.sign_in_page(&asked.to, String::new(), said);
    pages.door(StatusCode::OK, door)
}

async fn sign_in(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, asked) = match Asked::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(auth) = parts.extensions.get::<Auth>().cloned() else {
        return Problem::not_found().into_response();
    };
    let attempt = Attempt {
        name: asked.name.clone(),
        password: Password::offered(asked.password),
        from: pages.client(&parts),
        now: Timestamp::now(),
    };
    let now_ms = attempt.now.as_millisecond();
    let outcome = auth.backend.sign_in(attempt).await;
    if let Some(act) = audited(&pages.entrance.trail, &parts, &outcome, now_ms)
        && pages.entrance.trail.store.record(&act).await.is_err()
    {
        return unwritten();
    }
    let refused = match outcome {
        Ok(Outcome::Is(person)) => return enter(auth, &person, local(&asked.to)).await,
        Ok(Outcome::IsNot(_)) => Refused::wrong(),
        Err(not) => Refused::from(&not),
    };
    let said = Some(Said::Wrong(refused.text.clone()));
    let door = pages.sign_in_page(&asked.to, asked.name, said);
    refused.answer(pages.door(refused.status, door))
}

/// What is written down of an attempt; what was typed as a name is not: it may be a password.
pub(super) fn audited(
    trail: &Trail,
    parts: &Parts,
    outcome: &Result<Outcome, NotSignedIn>,
    now_ms: i64,
) -> Option<Act> {
    let by = trail.by(parts);
    let refuse = |by: &By, subject: String| Act::new(now_ms, by, action::SESSION_REFUSE, subject);
    match outcome {
        Ok(Outcome::Is(person)) => {
            let by = By {
                actor: Actor::person(person),
                ..by
            };
            let subject = format!("account:{}", person.id);
            Some(Act::new(now_ms, &by, action::SESSION_START, subject))
        }
        Ok(Outcome::IsNot(Some(owner))) => Some(refuse(&by, format!("account:{}", owner.id))),
        Ok(Outcome::IsNot(None)) => Some(refuse(&by, "account:unknown".to_owned())),
        // Each would be a row, as often as a stranger likes; the attempts before are there.
        Err(_) => None,
    }
}

async fn sign_out(State(pages): State<Pages>, request: Request) -> Response {
    let Some(mut auth) = auth(&request).cloned() else {
        return see_other("/");
    };
    let person = auth.user.clone();
    if auth.logout().await.is_err() {
        return unwritten();
    }
    if let Some(person) = person {
        let (parts, _) = request.into_parts();
        let by = By {
            actor: Actor::person(&person),
            ..pages.entrance.trail.by(&parts)
        };
        let now_ms = Timestamp::now().as_millisecond();
        let act = Act::new(
            now_ms,
            &by,
            action::SESSION_END,
            format!("account:{}", person.id),
        );
        // It is done, whether that can be written down or not.
        if let Err(error) = pages.entrance.trail.store.record(&act).await {
            let error = &error as &dyn std::error::Error;
            tracing::error!(
                error,
                account = person.id,
                "signed out, but not in the audit log"
            );
        }
    }
    see_other(if pages.entrance.access.is_open() {
        "/"
    } else {
        "/sign-in?out=1"
    })
}

/// Signs somebody in under an id that nobody has seen before, whoever was signed in until now.
pub(super) async fn enter(mut auth: Auth, person: &Person, to: &str) -> Response {
    let entered = match auth.session.cycle_id().await {
        Ok(()) => auth.login(person).await.is_ok(),
        Err(_) => false,
    };
    if entered { see_other(to) } else { unwritten() }
}

/// Why somebody was not let in, as they are told.
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) text: String,
    /// When to come back, in seconds.
    retry_after_s: Option<u64>,
}

impl Refused {
    /// By name or password; which of them is nobody's business.
    pub(super) fn wrong() -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Name or password is wrong.",
        )
    }

    fn new(status: StatusCode, text: impl Into<String>) -> Self {
        let (text, retry_after_s) = (text.into(), None);
        Self {
            status,
            text,
            retry_after_s,
        }
    }

    fn for_now(status: StatusCode, why: &str, seconds: u64) -> Self {
        let text = format!("{why} Try again in {seconds} s.");
        Self {
            status,
            text,
            retry_after_s: Some(seconds),
        }
    }

    /// The page that says so, which says it to programs, too.
    fn answer(&self, mut page: Response) -> Response {
        if let Some(seconds) = self.retry_after_s {
            page.headers_mut()
                .insert(header::RETRY_AFTER, seconds.into());
        }
        page
    }
}

impl From<&NotSignedIn> for Refused {
    /// For no fault of the password.
    fn from(not: &NotSignedIn) -> Self {
        match not {
            NotSignedIn::Throttled(wait) => {
                let seconds = u64::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
                let status = StatusCode::TOO_MANY_REQUESTS;
                Self::for_now(status, "Too many attempts were made.", seconds)
            }
            NotSignedIn::NotHashed(NotHashed::Busy) => {
                let (status, why) = (
                    StatusCode::SERVICE_UNAVAILABLE,
                    "Too many people sign in at once.",
                );
                Self::for_now(status, why, BUSY_RETRY_AFTER_S)
            }
            NotSignedIn::NotSetUp(NotSetUp::Unknown) => {
                Self::new(StatusCode::NOT_FOUND, not.to_string())
            }
            NotSignedIn::NotSetUp(_) => Self::new(StatusCode::GONE, not.to_string()),
            NotSignedIn::NotHashed(NotHashed::Failed)
            | NotSignedIn::NotKnown(_)
            | NotSignedIn::Store(_) => {
                let text = "Nobody can be signed in now. Try again in a moment; the server's log says more.";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, text)
            }
        }
    }
}

pub(super) fn unwritten() -> Response {
    let title = "It cannot be written down";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).into_response()
}

fn auth(request: &Request) -> Option<&Auth> {
    request.extensions().get()
}

impl Pages {
    fn sign_in_page(&self, to: &str, name: String, said: Option<Said>) -> Door {
        Door::SignIn {
            to: local(to).to_owned(),
            name,
            said,
            guests: self.entrance.access.is_open(),
            provider: self.provider_name(),
        }
    }

    /// Whom attempts are counted for; behind a proxy that is not trusted, that proxy.
    pub(super) fn client(&self, parts: &Parts) -> IpAddr {
        let peer = parts.extensions.get::<Peer>();
        let peer = peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |Peer(peer)| peer.ip());
        self.entrance.trail.by(parts).client.unwrap_or(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_to_come_back_is_said_to_people_and_to_programs() {
        let not = NotSignedIn::Throttled(std::time::Duration::from_millis(2_001));
        let refused = Refused::from(&not);
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(
            refused.text.ends_with("Try again in 3 s."),
            "{}",
            refused.text
        );
        let page = refused.answer(StatusCode::OK.into_response());
        assert_eq!(page.headers()[header::RETRY_AFTER], "3");
        let page = Refused::wrong().answer(StatusCode::OK.into_response());
        assert!(!page.headers().contains_key(header::RETRY_AFTER));
    }
}
