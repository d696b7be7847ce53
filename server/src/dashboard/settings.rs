//! What is one's own: sessions to end, and a password to change. What a form has come to is kept
//! in the session and said by the page that it leads back to.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{StatusCode, request::Parts};
use jiff::Timestamp;
use spillway_app::{OwnSession, Said, Settings};

use super::{
    Pages,
    door::{Asked, Refused, audited, enter, sentence, unwritten},
    plain,
};
use crate::{
    access::{
        Session,
        password::Password,
        people::{Attempt, NotSignedIn, Outcome},
    },
    audit::{Act, action},
    http::{Auth, Problem, Visitor, see_other, sign_in_first},
};

const PATH: &str = "/settings";

/// Under which the session keeps what is to be said: whether it is good news, and the words.
const FLASH: &str = "flash";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show))
        .route("/settings/password", post(change_password))
        .route("/settings/sessions/end", post(end_session))
}

/// Who is signed in, and what the library knows of it.
fn own(parts: &Parts) -> Option<(Auth, Arc<Session>)> {
    let visitor = parts.extensions.get::<Visitor>()?;
    let auth = parts.extensions.get::<Auth>()?;
    Some((auth.clone(), visitor.0.clone()?))
}

async fn show(State(pages): State<Pages>, request: Request) -> Response {
    let visitor = pages.visitor(&request);
    let (parts, body) = request.into_parts();
    let Some((auth, session)) = own(&parts) else {
        return match pages.entrance.access.people() {
            Some(_) => sign_in_first(&parts.method, &parts.uri),
            None => pages.nowhere(Request::from_parts(parts, body)).await,
        };
    };
    let said = flash(&auth).await;
    let Ok(sessions) = auth.backend.sessions_of(&session.person) else {
        return unwritten();
    };
    let mut sessions: Vec<_> = sessions.iter().map(|it| shown(it, &session)).collect();
    sessions.sort_by(|a, b| (b.is_this, &b.seen_at).cmp(&(a.is_this, &a.seen_at)));
    let settings = Settings {
        visitor,
        sessions,
        said,
    };
    plain(
        StatusCode::OK,
        spillway_app::settings(&pages.options, settings),
    )
}

/// What the last form came to; it is said once.
async fn flash(auth: &Auth) -> Option<Said> {
    // Taking it away is a write, which looking is not.
    let (is_done, text) = auth.session.get::<(bool, String)>(FLASH).await.ok()??;
    auth.session.remove_value(FLASH).await.ok()?;
    Some(match is_done {
        true => Said::Done(text),
        false => Said::Wrong(text),
    })
}

fn shown(session: &Arc<Session>, this: &Arc<Session>) -> OwnSession {
    let seen_at = Timestamp::from_millisecond(session.seen_at_ms());
    OwnSession {
        handle: session.handle.clone(),
        is_this: Arc::ptr_eq(session, this),
        signed_in_at: format!("{:.0}", session.signed_in_at),
        seen_at: format!("{:.0}", seen_at.unwrap_or(session.signed_in_at)),
    }
}

async fn end_session(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, asked) = match Asked::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some((auth, session)) = own(&parts) else {
        return Problem::not_found().into_response();
    };
    let Ok(ended) = auth.backend.end(&session.person, &asked.handle).await else {
        return unwritten();
    };
    if ended {
        let (now, by) = (Timestamp::now(), pages.entrance.trail.by(&parts));
        let subject = format!("account:{}", session.person.id);
        let act = Act::new(now.as_millisecond(), &by, action::SESSION_END, subject);
        if let Err(error) = pages.entrance.trail.store.record(&act).await {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "a session was ended, but not in the audit log");
        }
    }
    match (asked.handle == session.handle, ended) {
        (true, _) => see_other("/sign-in?out=1"),
        (false, true) => said(&auth, true, "The session has ended.").await,
        (false, false) => said(&auth, false, "That session had ended already.").await,
    }
}

async fn change_password(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, asked) = match Asked::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some((auth, session)) = own(&parts) else {
        return Problem::not_found().into_response();
    };
    let at = Timestamp::now();
    let attempt = Attempt {
        name: session.person.name.clone(),
        password: Password::offered(asked.password.clone()),
        from: pages.client(&parts),
        now: at,
    };
    // Whoever finds a browser open does not know the password, and may not guess it here.
    let outcome = auth.backend.sign_in(attempt).await;
    if matches!(outcome, Ok(Outcome::IsNot(_)))
        && let Some(act) = audited(&pages.entrance.trail, &parts, &outcome, at.as_millisecond())
        && pages.entrance.trail.store.record(&act).await.is_err()
    {
        return unwritten();
    }
    let wrong = match outcome {
        Ok(Outcome::Is(_)) => None,
        Ok(Outcome::IsNot(_)) => Some("That is not your password until now.".to_owned()),
        Err(not) => Some(Refused::from(&not).text),
    };
    if let Some(wrong) = wrong {
        return said(&auth, false, &wrong).await;
    }
    let new = match new_password(&asked, &session.person.name) {
        Ok(new) => new,
        Err(wrong) => return said(&auth, false, &wrong).await,
    };
    let (by, now) = (pages.entrance.trail.by(&parts), Timestamp::now());
    match auth
        .backend
        .change_password(&session.person, new, now, &by)
        .await
    {
        // The change has ended all sessions, this one too: it goes on under another id.
        Ok(person) => {
            let flash = auth.session.clone();
            let entered = enter(auth, &person, PATH).await;
            let _ = flash
                .insert(FLASH, (true, "Your password is changed."))
                .await;
            entered
        }
        Err(NotSignedIn::NotKnown(_)) => see_other("/sign-in"),
        Err(not) => said(&auth, false, &Refused::from(&not).text).await,
    }
}

fn new_password(asked: &Asked, name: &str) -> Result<Password, String> {
    if asked.new != asked.again {
        return Err("These are two different passwords.".to_owned());
    }
    Password::new(asked.new.clone(), name).map_err(|error| sentence(&error))
}

/// Leads back to the page, which then says this.
async fn said(auth: &Auth, is_done: bool, text: &str) -> Response {
    match auth.session.insert(FLASH, (is_done, text)).await {
        Ok(()) => see_other(PATH),
        Err(_) => unwritten(),
    }
}
