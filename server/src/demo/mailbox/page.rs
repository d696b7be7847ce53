//! The page of the mails: their text, with links that can be followed, and what a mail program
//! shows, in a frame where nothing runs.

use axum::{
    Router,
    extract::{Path, State},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::{HeaderName, StatusCode, header};
use spillway_app::{DemoMail, demo_mails};

use super::{Mail, Mailbox};
use crate::http::Problem;

/// Nothing but the page's own style and frames.
const POLICY: &str = "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

/// A mail's own styles, and nothing that runs or is fetched.
const MAIL_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

const STYLE: &str = include_str!("mailbox.css");

pub(super) fn routes(mailbox: Mailbox) -> Router {
    Router::new()
        .route("/", get(|| async { Redirect::to("/mails") }))
        .route("/mails", get(show))
        .route("/mails/{number}", get(show_html))
        .route("/mailbox.css", get(style))
        .fallback(|| async { Problem::not_found() })
        .with_state(mailbox)
}

fn answer(policy: &'static str, kind: &'static str, body: String) -> Response {
    let headers: [(HeaderName, &str); 6] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // A letter's link is its reader's alone.
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    (StatusCode::OK, headers, body).into_response()
}

async fn show(State(mailbox): State<Mailbox>) -> Response {
    let mails = mailbox.all();
    let page = demo_mails(mails.iter().map(|it| shown(it)).collect());
    answer(POLICY, "text/html; charset=utf-8", page)
}

fn shown(mail: &Mail) -> DemoMail {
    DemoMail {
        number: mail.number,
        at: format!("{:.0}", mail.at),
        to: mail.to.join(", "),
        subject: mail.subject.clone(),
        text: mail.text.clone(),
        has_html: !mail.html.is_empty(),
    }
}

async fn show_html(State(mailbox): State<Mailbox>, Path(number): Path<u64>) -> Response {
    match mailbox.one(number) {
        Some(mail) => answer(MAIL_POLICY, "text/html; charset=utf-8", mail.html.clone()),
        None => Problem::not_found().into_response(),
    }
}

async fn style() -> Response {
    answer(POLICY, "text/css; charset=utf-8", STYLE.to_owned())
}
