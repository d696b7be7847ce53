//! The first admin of a new server, by the link on its terminal.

use axum::{
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use jiff::Timestamp;
use spillway_app::{Door, Said};

use super::{Asked, Refused, enter, sentence};
use crate::{
    access::{password::Password, people::NotSignedIn, person},
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
    match people.check_set_up(&asked.key, Timestamp::now()).await {
        Ok(()) => {
            let door = page(asked.key, String::new(), None);
            pages.door(StatusCode::OK, door)
        }
        Err(not) => shut(&pages, &not),
    }
}

pub(super) async fn make(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, asked) = match Asked::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(auth) = parts.extensions.get::<Auth>().cloned() else {
        return Problem::not_found().into_response();
    };
    let key = asked.key.clone();
    let again = |text: String| page(key, asked.name.clone(), Some(Said::Wrong(text)));
    // Whoever has no good link learns nothing else.
    if let Err(not) = auth
        .backend
        .check_set_up(&asked.key, Timestamp::now())
        .await
    {
        return shut(&pages, &not);
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
        Err(not) => shut(&pages, &not),
    }
}

fn checked(asked: &Asked) -> Result<(String, Password), String> {
    let name = person::name(asked.name.trim()).map_err(|error| sentence(&error))?;
    if asked.password != asked.again {
        return Err("These are two different passwords.".to_owned());
    }
    let password =
        Password::new(asked.password.clone(), &name).map_err(|error| sentence(&error))?;
    Ok((name, password))
}

fn page(key: String, name: String, said: Option<Said>) -> Door {
    Door::SetUp { key, name, said }
}

fn shut(pages: &Pages, not: &NotSignedIn) -> Response {
    let Refused { status, text, .. } = Refused::from(not);
    let title = "No set-up here".to_owned();
    pages.door(status, Door::Shut { title, text })
}
