//! Signing in and out, and the first admin: plain forms, answered by a page that says what is
//! wrong, or by the way to where somebody wanted to go.

use std::net::{IpAddr, Ipv4Addr};

use axum::{
    Router,
    body::to_bytes,
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use jiff::Timestamp;
use serde::Deserialize;
use spillway_app::{Door, Said};

use super::Pages;
use crate::{
    access::{
        password::{NotHashed, Password},
        people::{Attempt, NotSignedIn, Outcome},
        person,
        set_up::NotSetUp,
    },
    audit::{Act, Actor, By, Trail, action},
    http::{Auth, Peer, Problem, see_other},
};

/// The longest form, in bytes: names and passwords, escaped.
const FORM_BYTES_MAX: usize = 8 * 1024;

/// The longest address to go on to, in bytes.
const TO_BYTES_MAX: usize = 2 * 1024;

/// When to come back while too many sign in at once, in seconds.
const BUSY_RETRY_AFTER_S: u64 = 5;

const WRONG: &str = "Name or password is wrong.";

/// What stands in an address or in a form; whatever is missing is empty.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    name: String,
    password: String,
    again: String,
    to: String,
    key: String,
    out: Option<String>,
}

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/sign-in", get(show_sign_in).post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/set-up", get(show_set_up).post(set_up))
}

async fn show_sign_in(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let asked: Asked = read(query.unwrap_or_default().as_bytes()).unwrap_or_default();
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
    let (parts, asked) = match form(request).await {
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
    let (status, text) = match outcome {
        Ok(Outcome::Is(person)) => return enter(auth, &person, local(&asked.to)).await,
        Ok(Outcome::IsNot(_)) => (StatusCode::UNPROCESSABLE_ENTITY, WRONG.to_owned()),
        Err(not) => refusal(&not),
    };
    let said = Some(Said::Wrong(text.clone()));
    let door = pages.sign_in_page(&asked.to, asked.name, said);
    let mut page = pages.door(status, door);
    retry_after(&mut page, &text);
    page
}

/// What is written down of an attempt; what was typed as a name is not: it may be a password.
fn audited(
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

async fn show_set_up(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let asked: Asked = read(query.unwrap_or_default().as_bytes()).unwrap_or_default();
    let Some(people) = pages.entrance.access.people().cloned() else {
        return pages.nowhere(request).await;
    };
    match people.check_set_up(&asked.key, Timestamp::now()).await {
        Ok(()) => {
            let door = set_up_page(asked.key, String::new(), None);
            pages.door(StatusCode::OK, door)
        }
        Err(not) => pages.shut(&not),
    }
}

async fn set_up(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, asked) = match form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(auth) = parts.extensions.get::<Auth>().cloned() else {
        return Problem::not_found().into_response();
    };
    let key = asked.key.clone();
    let again = |text: String| set_up_page(key, asked.name.clone(), Some(Said::Wrong(text)));
    // Whoever has no good link learns nothing else.
    if let Err(not) = auth
        .backend
        .check_set_up(&asked.key, Timestamp::now())
        .await
    {
        return pages.shut(&not);
    }
    let (name, password) = match checked(&asked) {
        Ok(checked) => checked,
        Err(text) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return pages.door(status, again(text));
        }
    };
    let (now, client) = (Timestamp::now(), pages.entrance.trail.by(&parts).client);
    match auth
        .backend
        .set_up(&asked.key, name, password, now, client)
        .await
    {
        Ok(person) => enter(auth, &person, "/").await,
        Err(not) => pages.shut(&not),
    }
}

/// Signs somebody in under an id that nobody has seen before, whoever was signed in until now.
async fn enter(mut auth: Auth, person: &crate::access::Person, to: &str) -> Response {
    let entered = match auth.session.cycle_id().await {
        Ok(()) => auth.login(person).await.is_ok(),
        Err(_) => false,
    };
    if entered { see_other(to) } else { unwritten() }
}

fn checked(asked: &Asked) -> Result<(String, Password), String> {
    let name = person::name(asked.name.trim()).map_err(|error| said(&error))?;
    if asked.password != asked.again {
        return Err("These are two different passwords.".to_owned());
    }
    let password = Password::new(asked.password.clone(), &name).map_err(|error| said(&error))?;
    Ok((name, password))
}

/// An error as a sentence.
fn said(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

/// The status and the words of an attempt that came to nothing for no fault of its password.
fn refusal(not: &NotSignedIn) -> (StatusCode, String) {
    match not {
        NotSignedIn::Throttled(wait) => {
            let seconds = wait.as_millis().div_ceil(1_000);
            let text = format!("Too many attempts were made. Try again in {seconds} s.");
            (StatusCode::TOO_MANY_REQUESTS, text)
        }
        NotSignedIn::NotHashed(NotHashed::Busy) => {
            let text =
                format!("Too many people sign in at once. Try again in {BUSY_RETRY_AFTER_S} s.");
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
        NotSignedIn::NotSetUp(NotSetUp::Unknown) => (StatusCode::NOT_FOUND, not.to_string()),
        NotSignedIn::NotSetUp(_) => (StatusCode::GONE, not.to_string()),
        NotSignedIn::NotHashed(NotHashed::Failed)
        | NotSignedIn::NotKnown(_)
        | NotSignedIn::Store(_) => {
            let text =
                "Nobody can be signed in now. Try again in a moment; the server's log says more.";
            (StatusCode::SERVICE_UNAVAILABLE, text.to_owned())
        }
    }
}

/// What the words say to people, for programs.
fn retry_after(page: &mut Response, text: &str) {
    let seconds = text
        .rsplit_once(" in ")
        .and_then(|(_, wait)| wait.strip_suffix(" s."));
    if let Some(Ok(seconds)) = seconds.map(HeaderValue::from_str) {
        page.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
}

fn unwritten() -> Response {
    let title = "It cannot be written down";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).into_response()
}

fn set_up_page(key: String, name: String, said: Option<Said>) -> Door {
    Door::SetUp { key, name, said }
}

fn auth(request: &Request) -> Option<&Auth> {
    request.extensions().get()
}

async fn form(request: Request) -> Result<(Parts, Asked), Problem> {
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let title = "This takes a form";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "unsupported_media_type", title));
    }
    let body = to_bytes(body, FORM_BYTES_MAX).await.map_err(|_| {
        let title = "The form is too long, or did not come whole";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", title)
    })?;
    let read = read(&body).ok_or_else(|| {
        let title = "The form cannot be read";
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_form", title)
    })?;
    Ok((parts, read))
}

fn read(text: &[u8]) -> Option<Asked> {
    serde_urlencoded::from_bytes(text).ok()
}

/// Where to go on to: a path of this server's pages, whatever browsers make of it; else the
/// overview. `//host` and `/\host` are other hosts to a browser.
fn local(to: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    let is_local = to.len() <= TO_BYTES_MAX
        && to.starts_with('/')
        && !to.starts_with("//")
        && !to.starts_with("/api/")
        && !to.starts_with("/sign-")
        && to.bytes().all(plain);
    if is_local { to } else { "/" }
}

impl Pages {
    fn sign_in_page(&self, to: &str, name: String, said: Option<Said>) -> Door {
        Door::SignIn {
            to: local(to).to_owned(),
            name,
            said,
            guests: self.entrance.access.is_open(),
        }
    }

    fn shut(&self, not: &NotSignedIn) -> Response {
        let (status, text) = refusal(not);
        let title = "No set-up here".to_owned();
        self.door(status, Door::Shut { title, text })
    }

    /// Whom attempts are counted for; behind a proxy that is not trusted, that proxy.
    fn client(&self, parts: &Parts) -> IpAddr {
        let peer = parts.extensions.get::<Peer>();
        let peer = peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |Peer(peer)| peer.ip());
        self.entrance.trail.by(parts).client.unwrap_or(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for to in ["/", "/users/graph/onenote?user=ana%40x&app=a", "/limits#x"] {
            assert_eq!(local(to), to);
        }
        let long = format!("/{}", "x".repeat(TO_BYTES_MAX));
        for to in [
            "",
            "users",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/a\r\nSet-Cookie: x",
            "https://evil.example",
            "javascript:alert(1)",
            "/api/v1/state",
            "/sign-in",
            "/é",
            &long,
        ] {
            assert_eq!(local(to), "/", "{to:?}");
        }
    }

    #[test]
    fn when_to_come_back_stands_in_the_head_too() {
        let not = NotSignedIn::Throttled(std::time::Duration::from_millis(2_001));
        let (status, text) = refusal(&not);
        let mut page = status.into_response();
        retry_after(&mut page, &text);
        assert_eq!(page.headers()[header::RETRY_AFTER], "3");
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    }
}
