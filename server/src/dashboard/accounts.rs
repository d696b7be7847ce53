//! Accounts, made and changed by admins; anybody who may look sees who there is.

mod listed;

use axum::{
    Router,
    extract::{Path as InPath, RawQuery, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{StatusCode, request::Parts};
use jiff::Timestamp;
use spillway_app::{AccountForm, AccountPage, OneTime, Told, in_words};

use super::{
    Pages,
    door::{Fields, Refused, sentence, unwritten},
    plain,
    tokens::role_may,
};
use crate::{
    access::{People, Role, invitation::InvitationKey, people::NotSignedIn, person},
    audit::{Act, action},
    http::{Problem, Visitor, see_other},
    store::{AccountChange, Error, StoredAccount},
};
use listed::{listed, session};

const PATH: &str = "/accounts";

const OPEN: &str = "This server lets anybody in, so it keeps no accounts here.";
const FOR_ADMINS: &str = "Takes the role admin.";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show))
        // Who comes back to a form that was not taken finds an empty one.
        .route(
            "/accounts/new",
            get(|| async { see_other(PATH) }).post(make),
        )
        .route("/accounts/{id}", get(show_one))
        .route("/accounts/{id}/role", post(change_role))
        .route("/accounts/{id}/invite", post(invite))
        .route("/accounts/{id}/disable", post(disable))
        .route("/accounts/{id}/enable", post(enable))
        .route("/accounts/{id}/remove", post(remove))
        .route("/accounts/{id}/sessions/end", post(end_session))
}

async fn show(State(pages): State<Pages>, RawQuery(query): RawQuery, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let told = pages.told(&parts, query.as_deref());
    let form = AccountForm {
        role: Role::Viewer.to_string(),
        ..AccountForm::default()
    };
    pages
        .accounts(&parts, StatusCode::OK, form, None, told)
        .await
}

async fn show_one(
    State(pages): State<Pages>,
    InPath(id): InPath<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let told = pages.told(&parts, query.as_deref());
    let Some(people) = pages.entrance.access.people() else {
        return pages.nowhere(Request::from_parts(parts, body)).await;
    };
    let now = Timestamp::now();
    let (Ok(all), Ok(mut sessions)) = (people.list(now).await, people.sessions_in(&id)) else {
        return unreadable();
    };
    let Some(account) = all.into_iter().find(|it| it.id == id) else {
        return pages.nowhere(Request::from_parts(parts, body)).await;
    };
    sessions.sort_by_key(|it| std::cmp::Reverse(it.seen_at_ms()));
    let page = AccountPage {
        why_not: pages.why_no_accounts(&parts),
        visitor: pages.visitor_of(&parts),
        account: listed(account, own(&parts).as_deref()),
        sessions: sessions.iter().map(session).collect(),
        roles: roles(),
        told,
    };
    plain(StatusCode::OK, spillway_app::account(&pages.options, page))
}

async fn make(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let people = match pages.people() {
        Ok(people) => people,
        Err(problem) => return problem.into_response(),
    };
    let by = pages.entrance.trail.by(&parts);
    let wrong = match asked(&fields) {
        Err(wrong) => wrong,
        Ok((name, role)) => match people.add(name, role, None, Timestamp::now(), &by).await {
            Ok((account, key)) => {
                let told = pages.told_made(&account, key.as_ref());
                return pages.lead(&parts, PATH, told);
            }
            Err(NotSignedIn::Store(Error::Database { .. })) => return unwritten(),
            Err(NotSignedIn::Store(error)) => sentence(&error),
            Err(not) => Refused::from(&not).text,
        },
    };
    let form = AccountForm {
        name: fields.get("name").to_owned(),
        role: fields.get("role").to_owned(),
        ..AccountForm::default()
    };
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    pages
        .accounts(&parts, status, form, Some(wrong), None)
        .await
}

fn asked(fields: &Fields) -> Result<(String, Role), String> {
    let name = person::name(fields.get("name")).map_err(|error| sentence(&error))?;
    let role = Role::named(fields.get("role")).ok_or("There is no such role.")?;
    Ok((name, role))
}

async fn change_role(
    State(pages): State<Pages>,
    InPath(id): InPath<String>,
    request: Request,
) -> Response {
    let (parts, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(role) = Role::named(fields.get("role")) else {
        let told = Told::wrong("There is no such role.".to_owned());
        return pages.lead(&parts, &one(&id), told);
    };
    let role = role.to_string();
    pages
        .change(&parts, &id, AccountChange::Role(&role), |account| {
            let (name, role) = (in_words(&account.name), &account.role);
            format!("{name} has the role {role} now, and signs in again.")
        })
        .await
}

async fn disable(
    State(pages): State<Pages>,
    InPath(id): InPath<String>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    pages
        .change(&parts, &id, AccountChange::Disable, |account| {
            format!("{} lets nobody in any more.", in_words(&account.name))
        })
        .await
}

async fn enable(
    State(pages): State<Pages>,
    InPath(id): InPath<String>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    pages
        .change(&parts, &id, AccountChange::Enable, |account| {
            format!("{} may sign in again.", in_words(&account.name))
        })
        .await
}

async fn remove(
    State(pages): State<Pages>,
    InPath(id): InPath<String>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    pages
        .change(&parts, &id, AccountChange::Remove, |account| {
            format!("{} is removed.", in_words(&account.name))
        })
        .await
}

async fn invite(
    State(pages): State<Pages>,
    InPath(id): InPath<String>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let people = match pages.people() {
        Ok(people) => people,
        Err(problem) => return problem.into_response(),
    };
    let by = pages.entrance.trail.by(&parts);
    match people.invite(&id, Timestamp::now(), &by).await {
        Ok(Some((account, key))) => {
            let told = pages.linked("A link is made.".to_owned(), &account, &key);
            pages.lead(&parts, &one(&id), told)
        }
        Ok(None) => pages.lead(&parts, PATH, gone()),
        Err(_) => unwritten(),
    }
}

async fn end_session(
    State(pages): State<Pages>,
    InPath(id): InPath<String>,
    request: Request,
) -> Response {
    let (parts, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let people = match pages.people() {
        Ok(people) => people,
        Err(problem) => return problem.into_response(),
    };
    let Ok(ended) = people.end_in(&id, fields.get("handle")).await else {
        return unwritten();
    };
    if !ended {
        let told = Told::wrong("That session had ended already.".to_owned());
        return pages.lead(&parts, &one(&id), told);
    }
    let (now_ms, by) = (
        Timestamp::now().as_millisecond(),
        pages.entrance.trail.by(&parts),
    );
    let act = Act::new(now_ms, &by, action::SESSION_END, format!("account:{id}"));
    if let Err(error) = pages.entrance.trail.store.record(&act).await {
        let error = &error as &dyn std::error::Error;
        tracing::error!(error, "a session was ended, but not in the audit log");
    }
    let told = Told::done("The session has ended.".to_owned());
    pages.lead(&parts, &one(&id), told)
}

fn one(id: &str) -> String {
    format!(
        "{PATH}/{}",
        percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC)
    )
}

fn gone() -> Told {
    Told::wrong("That account is gone.".to_owned())
}

/// The id of the account that looks.
fn own(parts: &Parts) -> Option<String> {
    let visitor = parts.extensions.get::<Visitor>()?;
    visitor.0.as_ref().map(|session| session.person.id.clone())
}

fn roles() -> Vec<(String, &'static str)> {
    Role::ALL
        .map(|role| (role.to_string(), role_may(role)))
        .to_vec()
}

fn unreadable() -> Response {
    let title = "The accounts cannot be read";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).into_response()
}

impl Pages {
    /// Who there is.
    ///
    /// # Errors
    /// Nobody signs in here.
    fn people(&self) -> Result<&People, Problem> {
        let title = "This server asks nobody to sign in";
        let open = || Problem::new(StatusCode::CONFLICT, "open", title).detail(OPEN);
        self.entrance.access.people().ok_or_else(open)
    }

    fn why_no_accounts(&self, parts: &Parts) -> String {
        match self.entrance.access.people() {
            None => OPEN.to_owned(),
            Some(_) if self.visitor_of(parts).role != Role::Admin.to_string() => {
                FOR_ADMINS.to_owned()
            }
            Some(_) => String::new(),
        }
    }

    async fn accounts(
        &self,
        parts: &Parts,
        status: StatusCode,
        form: AccountForm,
        wrong: Option<String>,
        told: Option<Told>,
    ) -> Response {
        let accounts = match self.entrance.access.people() {
            Some(people) => people.list(Timestamp::now()).await,
            None => Ok(Vec::new()),
        };
        let Ok(accounts) = accounts else {
            return unreadable();
        };
        let own = own(parts);
        let accounts = accounts.into_iter().map(|it| listed(it, own.as_deref()));
        let page = spillway_app::Accounts {
            visitor: self.visitor_of(parts),
            accounts: accounts.collect(),
            form: AccountForm {
                roles: roles(),
                ..form
            },
            wrong,
            why_not: self.why_no_accounts(parts),
            told,
        };
        plain(status, spillway_app::accounts(&self.options, page))
    }

    async fn change(
        &self,
        parts: &Parts,
        id: &str,
        change: AccountChange<'_>,
        done: impl FnOnce(&StoredAccount) -> String,
    ) -> Response {
        let people = match self.people() {
            Ok(people) => people,
            Err(problem) => return problem.into_response(),
        };
        let by = self.entrance.trail.by(parts);
        let is_removal = matches!(change, AccountChange::Remove);
        let (path, told) = match people.change(id, change, Timestamp::now(), &by).await {
            Ok(Some(account)) if is_removal => (PATH.to_owned(), Told::done(done(&account))),
            Ok(Some(account)) => (one(id), Told::done(done(&account))),
            Ok(None) => (PATH.to_owned(), gone()),
            Err(Error::Database { .. }) => return unwritten(),
            Err(error) => (one(id), Told::wrong(sentence(&error))),
        };
        self.lead(parts, &path, told)
    }

    fn told_made(&self, account: &StoredAccount, key: Option<&InvitationKey>) -> Told {
        let text = format!("The account {} is made.", in_words(&account.name));
        match key {
            Some(key) => self.linked(text, account, key),
            None => Told::done(text),
        }
    }

    fn linked(&self, text: String, account: &StoredAccount, key: &InvitationKey) -> Told {
        Told {
            one_time: Some(OneTime {
                label: "The link to choose a password",
                value: format!("{}/welcome?key={}", self.entrance.public_url, key.reveal()),
                hint: format!(
                    "Give it to {} alone, by a way that you trust: it is never shown again, and good for a day and once.",
                    in_words(&account.name)
                ),
            }),
            ..Told::done(text)
        }
    }
}
