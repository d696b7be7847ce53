//! The pages in front of the dashboard: where people sign in, and where the first admin is made.
//!
//! Plain documents with plain forms: no script, nothing to hydrate, and nothing of what the
//! dashboard shows.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::accounts::choose_password;
use crate::overview::name;
use crate::pages::query;

/// The longest name of an account, in characters, and how long its password may be.
const NAME_CHARS_MAX: &str = "64";
const PASSWORD_CHARS_MIN: &str = "12";
const PASSWORD_CHARS_MAX: &str = "128";

/// A page in front of the dashboard.
#[derive(Clone, Debug)]
pub enum Door {
    /// Where people sign in.
    SignIn {
        /// Where they go then: a path of this server.
        to: String,
        /// As whom, as far as is known.
        name: String,
        /// What became of the last attempt.
        said: Option<Said>,
        /// Whether there is a dashboard for those who do not.
        guests: bool,
        /// What an identity provider is called that vouches for people, if there is one.
        provider: Option<String>,
    },
    /// Where the first admin is made.
    SetUp {
        /// What the link held.
        key: String,
        /// What they want to be called, as far as is known.
        name: String,
        /// What is wrong with it.
        said: Option<Said>,
    },
    /// Where somebody chooses a password, by an admin's link.
    Welcome {
        /// What the link held.
        key: String,
        /// Whose account it is.
        name: String,
        /// What is wrong with the password.
        said: Option<Said>,
    },
    /// Where nothing can be done.
    Shut {
        /// In a few words.
        title: String,
        /// Why, and what to do.
        text: String,
    },
    /// The same for those who have no way to the dashboard.
    Closed {
        /// In a few words.
        title: String,
        /// Why, and what to do.
        text: String,
    },
}

/// What is said above a form.
#[derive(Clone, Debug)]
pub enum Said {
    /// Something is done.
    Done(String),
    /// Something is wrong.
    Wrong(String),
}

/// The policy that these pages are served under: no script at all.
pub const DOOR_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The document as text. It is not rendered as the dashboard is, which adds scripts.
#[must_use]
pub fn door(options: &LeptosOptions, door: Door) -> String {
    let owner = Owner::new_root(None);
    let page = owner.with(|| document(options, door).to_html());
    owner.cleanup();
    page
}

fn document(options: &LeptosOptions, door: Door) -> impl IntoView + use<> {
    let title = match &door {
        Door::SignIn { .. } => "Sign in".to_owned(),
        Door::SetUp { .. } => "Make the first admin".to_owned(),
        Door::Welcome { .. } => "Welcome".to_owned(),
        Door::Shut { title, .. } | Door::Closed { title, .. } => title.clone(),
    };
    let body = match door {
        Door::SignIn {
            to,
            name,
            said,
            guests,
            provider,
        } => sign_in(to, name, said, guests, provider).into_any(),
        Door::SetUp { key, name, said } => set_up(key, name, said).into_any(),
        Door::Welcome { key, name, said } => welcome(key, name, said).into_any(),
        Door::Shut { text, .. } => shut(text).into_any(),
        Door::Closed { text, .. } => view! { <p>{text}</p> }.into_any(),
    };
    view! {
        <!DOCTYPE html>
        <html lang="en">
            {head(options, &title)}
            <body class="door">
                <main>
                    <p class="brand">
                        <svg viewBox="0 0 32 32" aria-hidden="true">
                            <path d="M4 6h24M4 6v20M28 6v20M4 15c4-4 8 4 12 0s8 4 12 0M4 22c4-4 8 4 12 0s8 4 12 0"></path>
                        </svg>
                        "Spillway"
                    </p>
                    <h1>{title}</h1>
                    {body}
                </main>
            </body>
        </html>
    }
}

/// The head of a page without scripts.
pub fn head(options: &LeptosOptions, title: &str) -> impl IntoView + use<> {
    let style = format!("/{}/{}.css", options.site_pkg_dir, options.output_name);
    let title = format!("{title} · Spillway");
    view! {
        <head>
            <meta charset="utf-8"/>
            <meta name="viewport" content="width=device-width, initial-scale=1"/>
            <meta name="color-scheme" content="light dark"/>
            <meta name="robots" content="noindex"/>
            <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
            <link rel="stylesheet" href=style/>
            <title>{title}</title>
        </head>
    }
}

fn sign_in(
    to: String,
    name: String,
    said: Option<Said>,
    guests: bool,
    provider: Option<String>,
) -> impl IntoView {
    let provider = provider.map(|provider| {
        let path = ["/sign-in/provider", &query(&[("to", &to)])].concat();
        view! {
            <p>
                <a class="button" href=path>
                    "Sign in with " <bdi>{name::visible(&provider)}</bdi>
                </a>
            </p>
        }
    });
    let hint = match guests {
        true => view! {
            <p class="hint">
                "The accounts of this demo stand in the terminal where it was started. "
                <a href="/">"Only look around"</a>
            </p>
        }
        .into_any(),
        false => view! {
            <p class="hint">
                "No account? An admin makes one, or whoever runs the server, by "
                <code>"spillway user add"</code> "."
            </p>
        }
        .into_any(),
    };
    view! {
        {said.map(notice)}
        {provider}
        <form method="post" action="/sign-in" class="fields">
            <input type="hidden" name="to" value=to/>
            {name_field(name)}
            {password_field("Password", "password", "current-password", false)}
            <button type="submit" class="primary">"Sign in"</button>
        </form>
        {hint}
    }
}

fn set_up(key: String, name: String, said: Option<Said>) -> impl IntoView {
    view! {
        <p>"Nobody has an account here yet. This one may do everything: edit limits, and make further accounts."</p>
        {said.map(notice)}
        <form method="post" action="/set-up" class="fields">
            <input type="hidden" name="key" value=key/>
            {name_field(name)}
            {password_field("Password", "password", "new-password", true)}
            {password_field("The same again", "again", "new-password", true)}
            <p class="hint">{format!("At least {PASSWORD_CHARS_MIN} characters. A few words in a row are good.")}</p>
            <button type="submit" class="primary">"Make the admin and sign in"</button>
        </form>
    }
}

fn welcome(key: String, name: String, said: Option<Said>) -> impl IntoView {
    view! {
        <p>"Choose a password for the account " <b><bdi>{name::visible(&name)}</bdi></b> "."</p>
        {said.map(notice)}
        {choose_password(key)}
    }
}

fn shut(text: String) -> impl IntoView {
    view! {
        <p>{text}</p>
        <p><a href="/">"To the dashboard"</a></p>
    }
}

/// What is said above a form.
pub fn notice(said: Said) -> impl IntoView {
    let (class, role, text) = match said {
        Said::Done(text) => ("notice clear", "status", text),
        Said::Wrong(text) => ("notice full", "alert", text),
    };
    view! { <p class=class role=role>{text}</p> }
}

fn name_field(name: String) -> impl IntoView {
    view! {
        <label>
            "Name"
            <input
                type="text"
                name="name"
                value=name
                required
                autofocus
                maxlength=NAME_CHARS_MAX
                autocomplete="username"
                autocapitalize="none"
                spellcheck="false"
            />
        </label>
    }
}

/// A field for a password, old or new.
pub fn password_field(
    label: &'static str,
    name: &'static str,
    autocomplete: &'static str,
    new: bool,
) -> impl IntoView {
    view! {
        <label>
            {label}
            <input
                type="password"
                name=name
                required
                minlength=new.then_some(PASSWORD_CHARS_MIN)
                maxlength=PASSWORD_CHARS_MAX
                autocomplete=autocomplete
            />
        </label>
    }
}
