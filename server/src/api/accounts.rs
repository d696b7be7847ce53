//! `/api/v1/accounts`: listed for who sees everything, made, changed and removed by admins.

use axum::{
    Extension, Json,
    extract::{FromRequest as _, Path, RawQuery, Request, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{StatusCode, request::Parts};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Api,
    json::{Body, BodyRefused},
    named::bad_field,
    pages::{self, instant},
    tokens::{no_store, unbound, unwritten},
};
use crate::{
    access::{
        Caller, People, Role,
        invitation::{self, InvitationKey},
        people::{Listed, NotSignedIn},
        person,
    },
    audit::{Act, By, action},
    http::Problem,
    store::AccountChange,
};

type Answer = Result<Response, Problem>;
type Named = Result<Path<String>, PathRejection>;

/// An account that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewAccount)]
struct Wish {
    /// What its owner signs in with.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// What they may do.
    role: Role,
}

/// What is to be otherwise; left out: as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AccountChange)]
struct Change {
    /// What they may do. A change ends their sessions.
    role: Option<Role>,
    /// Whether it lets nobody in for now.
    disabled: Option<bool>,
}

/// An account: nothing of its password.
#[derive(Serialize, ToSchema)]
#[schema(as = Account)]
struct Shown {
    #[schema(pattern = "^[0-9a-f]{16}$")]
    id: String,
    name: String,
    /// Left out: what the database has is damaged, and lets nobody in.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    disabled: bool,
    has_password: bool,
    /// Until when a link is good by which a password is chosen; left out: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    link_until: Option<String>,
    /// In how many browsers they are signed in.
    sessions: usize,
    /// When one of these was last used; left out: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_seen_at: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
}

/// Some accounts, the oldest first.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountPage)]
struct Page {
    accounts: Vec<Shown>,
    /// Where the next page begins; left out: this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A link by which an account's owner chooses a password. It is shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountLink)]
struct Link {
    /// The account.
    #[schema(pattern = "^[0-9a-f]{16}$")]
    id: String,
    /// Where its owner goes, once.
    link: String,
    /// Until when it is good.
    #[schema(format = DateTime)]
    link_until: String,
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(change, remove))
        .routes(routes!(link))
        .routes(routes!(end_sessions))
}

/// List the accounts
///
/// It takes a token that is bound to nothing.
#[utoipa::path(
    get,
    path = "/api/v1/accounts",
    tag = "access",
    operation_id = "listAccounts",
    params(pages::Paging),
    responses(
        (status = 200, description = "Some of them", body = Page),
        (status = 409, description = "`open`: nobody signs in here"),
        (status = 503, description = "`storage`: they cannot be read"),
    )
)]
async fn list(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Answer {
    caller.may_see_all()?;
    let paging = pages::read(query.as_deref())?;
    let all = people(&api)?.list(Timestamp::now()).await;
    let (some, next_cursor) = paging.of(all.map_err(unwritten)?, |account| &account.id)?;
    let accounts = some.into_iter().map(Shown::from).collect();
    Ok(no_store(Json(Page {
        accounts,
        next_cursor,
    })))
}

/// Make an account
///
/// Its owner chooses a password by the link that is answered, which is shown this once.
#[utoipa::path(
    post,
    path = "/api/v1/accounts",
    tag = "access",
    operation_id = "createAccount",
    request_body = Wish,
    responses(
        BodyRefused,
        (status = 201, description = "It is made", body = Link),
        (status = 409, description = "`open`: nobody signs in here; `name_taken`; `too_many`: 1,000 are there"),
        (status = 503, description = "`storage`: it cannot be written down, and was not made"),
    )
)]
async fn create(State(api): State<Api>, request: Request) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let Body(wish) = Body::<Wish>::from_request(request_of(&parts, body), &api).await?;
    let made = async {
        let (people, by) = admin(&api, &parts)?;
        let name = person::name(&wish.name).map_err(|not| bad_field(not.to_string()))?;
        let now = Timestamp::now();
        let made = people.add(name, wish.role, None, now, &by).await;
        let (account, key) = made.map_err(not_made)?;
        let key = key.ok_or_else(Problem::not_found)?;
        let link = Json(api.link(account.id, &key, now));
        Ok((StatusCode::CREATED, no_store(link)).into_response())
    };
    made.await
        .map_err(|problem: Problem| problem.into_response())
}

/// Change an account
///
/// Another role, or whether it lets anybody in. Whatever changes ends its sessions.
#[utoipa::path(
    put,
    path = "/api/v1/accounts/{id}",
    tag = "access",
    operation_id = "changeAccount",
    params(("id" = String, Path, description = "Names it")),
    request_body = Change,
    responses(
        BodyRefused,
        (status = 204, description = "It is so"),
        (status = 404, description = "`not_found`: no account has this id"),
        (status = 409, description = "`open`: nobody signs in here; `last_admin`: make another one first"),
        (status = 503, description = "`storage`: it cannot be written down; what comes first in the description was done, if anything"),
    )
)]
async fn change(State(api): State<Api>, id: Named, request: Request) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let Body(wish) = Body::<Change>::from_request(request_of(&parts, body), &api).await?;
    let role = wish.role.map(|role| role.to_string());
    let changes = [
        role.as_deref().map(AccountChange::Role),
        wish.disabled.map(|disabled| match disabled {
            true => AccountChange::Disable,
            false => AccountChange::Enable,
        }),
    ];
    let changed = apply(&api, &parts, id, changes.into_iter().flatten()).await;
    changed.map_err(IntoResponse::into_response)
}

/// Remove an account
///
/// Its sessions end at once, and it cannot be brought back.
#[utoipa::path(
    delete,
    path = "/api/v1/accounts/{id}",
    tag = "access",
    operation_id = "removeAccount",
    params(("id" = String, Path, description = "Names it")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "`not_found`: no account has this id"),
        (status = 409, description = "`open`: nobody signs in here; `last_admin`: make another one first"),
        (status = 503, description = "`storage`: it cannot be written down, and was not done"),
    )
)]
async fn remove(State(api): State<Api>, id: Named, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    apply(&api, &parts, id, [AccountChange::Remove]).await
}

/// Make a link to choose a password
///
/// Good for a day and once; it voids the one before. The password until now stays until another
/// is chosen.
#[utoipa::path(
    post,
    path = "/api/v1/accounts/{id}/link",
    tag = "access",
    operation_id = "linkAccount",
    params(("id" = String, Path, description = "Names it")),
    responses(
        (status = 200, description = "The link, shown this once", body = Link),
        (status = 404, description = "`not_found`: no account has this id"),
        (status = 409, description = "`open`: nobody signs in here"),
        (status = 503, description = "`storage`: it cannot be written down, and was not made"),
    )
)]
async fn link(State(api): State<Api>, id: Named, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    let (people, by) = admin(&api, &parts)?;
    let (Path(id), now) = (id.map_err(|_| Problem::not_found())?, Timestamp::now());
    let invited = people.invite(&id, now, &by).await.map_err(unwritten)?;
    let (account, key) = invited.ok_or_else(Problem::not_found)?;
    Ok(no_store(Json(api.link(account.id, &key, now))))
}

/// End an account's sessions
///
/// All of them, and what is open in their name.
#[utoipa::path(
    delete,
    path = "/api/v1/accounts/{id}/sessions",
    tag = "access",
    operation_id = "endSessions",
    params(("id" = String, Path, description = "Names the account")),
    responses(
        (status = 204, description = "None is left"),
        (status = 404, description = "`not_found`: the path is no UTF-8"),
        (status = 409, description = "`open`: nobody signs in here"),
        (status = 503, description = "`storage`: not all could be ended"),
    )
)]
async fn end_sessions(State(api): State<Api>, id: Named, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    let (people, by) = admin(&api, &parts)?;
    let Path(id) = id.map_err(|_| Problem::not_found())?;
    let unknown = |_| {
        let title = "The database does not do this now";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title)
    };
    for session in people.sessions_in(&id).map_err(unknown)? {
        people
            .end_in(&id, &session.handle)
            .await
            .map_err(unwritten)?;
        let now_ms = Timestamp::now().as_millisecond();
        let act = Act::new(now_ms, &by, action::SESSION_END, format!("account:{id}"));
        api.trail.store.record(&act).await.map_err(unwritten)?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn request_of(parts: &Parts, body: axum::body::Body) -> Request {
    Request::from_parts(parts.clone(), body)
}

/// Who there is, and who changes that.
fn admin<'a>(api: &'a Api, parts: &Parts) -> Result<(&'a People, By), Problem> {
    unbound(parts.extensions.get())?;
    Ok((people(api)?, api.trail.by(parts)))
}

fn people(api: &Api) -> Result<&People, Problem> {
    let open = || {
        let title = "This server asks nobody to sign in";
        Problem::new(StatusCode::CONFLICT, "open", title)
    };
    api.access.people().ok_or_else(open)
}

async fn apply<'a>(
    api: &Api,
    parts: &Parts,
    id: Named,
    changes: impl IntoIterator<Item = AccountChange<'a>>,
) -> Answer {
    let (people, by) = admin(api, parts)?;
    let Path(id) = id.map_err(|_| Problem::not_found())?;
    for change in changes {
        let changed = people.change(&id, change, Timestamp::now(), &by).await;
        if changed.map_err(unwritten)?.is_none() {
            return Err(Problem::not_found());
        }
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn not_made(not: NotSignedIn) -> Problem {
    match not {
        NotSignedIn::Store(error) => unwritten(error),
        other => {
            let title = "It was not made";
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title);
            problem.detail(other.to_string())
        }
    }
}

impl Api {
    fn link(&self, id: String, key: &InvitationKey, now: Timestamp) -> Link {
        let until = now.saturating_add(invitation::LASTS).unwrap_or(now);
        Link {
            id,
            link: format!("{}/welcome?key={}", self.public_url, key.reveal()),
            link_until: instant(until.as_millisecond()),
        }
    }
}

impl From<Listed> for Shown {
    fn from(account: Listed) -> Self {
        Self {
            id: account.id,
            name: account.name,
            role: account.role,
            disabled: account.is_disabled,
            has_password: account.has_password,
            link_until: account.invited_until_ms.map(instant),
            sessions: account.sessions,
            last_seen_at: account.seen_at_ms.map(instant),
            created_at: instant(account.created_at_ms),
        }
    }
}
