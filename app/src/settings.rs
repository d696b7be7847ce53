//! The page of what is one's own: the browsers in which one is signed in, and one's password.
//!
//! A plain document with plain forms, as those in front of the dashboard are.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::door::{Said, password_field};
use crate::overview::name;
use crate::pages::Page;
use crate::plain::{Plain, Told, document, instant};
use crate::visitor::Visitor;

/// What the page shows.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whose it is.
    pub visitor: Visitor,
    /// Where they are signed in, this browser first.
    pub sessions: Vec<OwnSession>,
    /// What became of the last form.
    pub said: Option<Said>,
}

/// A browser in which somebody is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSession {
    /// Names it.
    pub handle: String,
    /// Whether it is the one that looks.
    pub is_this: bool,
    /// When they signed in, RFC 3339.
    pub signed_in_at: String,
    /// When it was last used, RFC 3339.
    pub seen_at: String,
}

/// The document as text.
#[must_use]
pub fn settings(options: &LeptosOptions, settings: Settings) -> String {
    let Settings {
        visitor,
        sessions,
        said,
    } = settings;
    let account = visitor.name.clone();
    let plain = Plain {
        page: Page::Settings,
        beside: [name::in_words(&visitor.name), visitor.role.clone()].join(", "),
        visitor,
        title: "Settings".to_owned(),
        class: "settings",
        told: said.map(Told::from),
    };
    document(options, plain, || {
        (own_sessions(sessions), own_password(account))
    })
}

fn own_sessions(sessions: Vec<OwnSession>) -> impl IntoView {
    let rows = sessions.into_iter().map(row).collect_view();
    view! {
        <section class="card" aria-labelledby="sessions">
            <div class="head">
                <h2 id="sessions">"Where you are signed in"</h2>
            </div>
            <ul class="rows">{rows}</ul>
            <p class="means">"A session ends an hour after its last use, and after a day in any case."</p>
        </section>
    }
}

fn row(session: OwnSession) -> impl IntoView {
    let (which, word) = match session.is_this {
        true => ("This browser", "Sign out"),
        false => ("Another browser", "End"),
    };
    // Who speaks to the page says what stands there: the name begins with it.
    let label = [word, ": the session since ", &session.signed_in_at].concat();
    view! {
        <li>
            <p>
                <b>{which}</b>
                " since "
                {instant(session.signed_in_at)}
                ", last used "
                {instant(session.seen_at)}
            </p>
            <form method="post" action="/settings/sessions/end">
                <input type="hidden" name="handle" value=session.handle/>
                <button type="submit" aria-label=label>
                    {word}
                </button>
            </form>
        </li>
    }
}

fn own_password(name: String) -> impl IntoView {
    view! {
        <section class="card" aria-labelledby="password">
            <div class="head">
                <h2 id="password">"Your password"</h2>
            </div>
            <form method="post" action="/settings/password" class="fields">
                // Tells those who keep passwords whose it is.
                <input type="text" autocomplete="username" value=name hidden readonly/>
                {password_field("The password until now", "password", "current-password", false)}
                {password_field("A new one", "new", "new-password", true)}
                {password_field("The same again", "again", "new-password", true)}
                <p class="means">"At least 12 characters. Your other sessions end with the change."</p>
                <button type="submit" class="primary">"Change it"</button>
            </form>
        </section>
    }
}
