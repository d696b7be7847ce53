//! Where somebody chooses a password, by the link that an admin has handed out.

use axum::{
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use jiff::Timestamp;
use spillway_app::{Door, Said};

use super::{Asked, Refused, enter, sentence};
use crate::{
    access::{password::Password, people::NotSignedIn},
    dashboard::Pages,
    http::{Auth, Problem},
};

pub(super) async fn show(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let asked = Asked::in_address(query.as_deref());
    let Some(people) = pages.entrance.access.people().cloned() else {
        return pages.nowhere(request).await;
    };
    match people.invited(&asked.key, Timestamp::now()).await {
        Ok(account) => pages.door(StatusCode::OK, page(asked.key, account.name, None)),
        Err(not) => shut(&pages, &not),
    }
}

pub(super) async fn choose(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, asked) = match Asked::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(auth) = parts.extensions.get::<Auth>().cloned() else {
        return Problem::not_found().into_response();
    };
    let now = Timestamp::now();
    let account = match auth.backend.invited(&asked.key, now).await {
        Ok(account) => account,
        Err(not) => return shut(&pages, &not),
    };
    let password = match chosen(&asked, &account.name) {
        Ok(password) => password,
        Err(wrong) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            let said = Some(Said::Wrong(wrong));
            return pages.door(status, page(asked.key, account.name, said));
        }
    };
    let client = pages.entrance.trail.by(&parts).client;
    match auth.backend.accept(&asked.key, password, now, client).await {
        Ok(person) => enter(auth, &person, "/").await,
        Err(not) => shut(&pages, &not),
    }
}

fn chosen(asked: &Asked, name: &str) -> Result<Password, String> {
    if asked.password != asked.again {
        return Err("These are two different passwords.".to_owned());
    }
    Password::new(asked.password.clone(), name).map_err(|error| sentence(&error))
}

fn page(key: String, name: String, said: Option<Said>) -> Door {
    Door::Welcome { key, name, said }
}

fn shut(pages: &Pages, not: &NotSignedIn) -> Response {
    let Refused { status, text, .. } = Refused::from(not);
    let title = "No way in here".to_owned();
    pages.door(status, Door::Shut { title, text })
}
