//! Who is signed in, as their browser's cookie says, and what those are told who are not.
//!
//! axum-login reads and writes the cookie; what stands behind it is
//! [`People`]. Under TLS its name begins with `__Host-`, so that browsers take it from this host
//! alone, for all of it, and send it by TLS alone. `SameSite=Lax`: a link in a mail leads to
//! the page and not to the sign-in, and no other site's form or script brings it along.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use axum_login::{
    AuthManagerLayerBuilder, AuthSession,
    tower_sessions::{SessionManagerLayer, cookie::SameSite},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Problem, rules};
use crate::access::{Denied, NotValid, People, Session, secret};

/// The cookie's name by TLS, and without. The gateway never passes either on.
const SECURE_NAME: &str = "__Host-spillway";
const PLAIN_NAME: &str = "spillway_session";

/// What axum-login knows of a request's session.
pub type Auth = AuthSession<People>;

/// Who is signed in, if anybody is.
#[derive(Clone, Debug)]
pub struct Visitor(pub Option<Arc<Session>>);

/// `router`, with what each request's cookie says.
pub(crate) fn known_visitors(router: Router, people: People, secure: bool) -> Router {
    let name = if secure { SECURE_NAME } else { PLAIN_NAME };
    let sessions = SessionManagerLayer::new(people.clone())
        .with_name(name)
        .with_secure(secure)
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_path("/");
    let auth = AuthManagerLayerBuilder::new(people.clone(), sessions).build();
    router
        .layer(auth)
        .layer(middleware::from_fn_with_state(people, unless_unreadable))
        .layer(middleware::map_response(complete))
}

/// Who has asked; nobody where the server is open.
pub(crate) fn visitor(request: &Request) -> Result<Visitor, Problem> {
    let auth = request.extensions().get::<Auth>();
    let signed_in = auth.filter(|auth| auth.user.is_some());
    let Some((auth, id)) = signed_in.and_then(|auth| Some((auth, auth.session.id()?))) else {
        return Ok(Visitor(None));
    };
    let session = auth.backend.session(id, Timestamp::now());
    session.map(Visitor).map_err(rules::problem)
}

/// Where to go instead of a page that is for those who have signed in; whatever is no look at
/// a page is refused.
pub(crate) fn sign_in_first(method: &Method, uri: &Uri) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return signed_out();
    }
    let asked = uri.path_and_query().map_or("/", |it| it.as_str());
    let to = match asked {
        // A token that somebody put there goes no further.
        asked if asked == "/" || secret::is_within(asked) => "/sign-in".to_owned(),
        asked => format!(
            "/sign-in?to={}",
            utf8_percent_encode(asked, NON_ALPHANUMERIC)
        ),
    };
    see_other(&to)
}

/// What somebody sees who sends a form after the session has ended: the browser still has the form, and
/// sends it again when the page is loaded again.
fn signed_out() -> Response {
    let text = "<h1>You are signed out</h1><p>Nothing was changed. Your form is not lost: \
        <a href=\"/sign-in\" target=\"_blank\" rel=\"noopener\">sign in in another tab</a>, then load this page again \
        and let the browser send the form once more.</p>";
    small_page(StatusCode::UNAUTHORIZED, "Signed out", text)
}

/// Sends the browser on to one of this server's own pages, which it is not to remember.
pub(crate) fn see_other(to: &str) -> Response {
    let mut headers = HeaderMap::new();
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    headers.insert(header::LOCATION, to);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// A page that says what its reader's role lacks.
pub(super) fn denied(denied: &Denied) -> Response {
    let text = format!(
        "<h1>Not for your role</h1><p>You are signed in, but {denied}. An admin can give you another role.</p>\
         <p><a href=\"/settings\">Your own settings</a></p>\
         <form method=\"post\" action=\"/sign-out\"><button>Sign out</button></form>"
    );
    small_page(StatusCode::FORBIDDEN, "Not for your role", &text)
}

/// A page of a few words. Nothing in them was chosen by anybody: they name roles and scopes at most.
fn small_page(status: StatusCode, title: &str, text: &str) -> Response {
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"icon\" href=\"/favicon.svg\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"/pkg/spillway.css\"><title>{title} · Spillway</title>\
         </head><body class=\"door\"><main>{text}</main></body></html>"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'",
        ),
    ];
    (status, headers, page).into_response()
}

/// While it cannot be known whether a session has ended, none lets anybody in.
async fn unless_unreadable(State(people): State<People>, request: Request, next: Next) -> Response {
    let cookies = request.headers().get_all(header::COOKIE);
    let mut cookies = cookies.iter().filter_map(|it| it.to_str().ok());
    let ours = |cookie: &str| cookie.contains(SECURE_NAME) || cookie.contains(PLAIN_NAME);
    if people.is_unreadable() && cookies.any(ours) {
        return rules::problem(NotValid::Unreadable).into_response();
    }
    next.run(request).await
}

/// A browser takes a cookie of this name back only by words that it would take it by.
async fn complete(mut response: Response) -> Response {
    if let header::Entry::Occupied(mut cookies) = response.headers_mut().entry(header::SET_COOKIE) {
        for cookie in cookies.iter_mut() {
            let text = cookie.to_str().unwrap_or_default();
            if text.starts_with(SECURE_NAME) && !text.contains("; Secure") {
                let whole = format!("{text}; HttpOnly; SameSite=Lax; Secure");
                if let Ok(whole) = HeaderValue::from_str(&whole) {
                    *cookie = whole;
                }
            }
        }
    }
    response
}
