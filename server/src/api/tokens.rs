//! `/api/v1/tokens`: listed for who sees everything, made and revoked by admins.

use std::collections::BTreeSet;

use axum::{
    Extension, Json,
    extract::{FromRequest as _, Path, RawQuery, Request, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Api,
    json::{Body, BodyRefused},
    named::bad_field,
    pages::{self, instant},
};
use crate::{
    access::{
        Caller, Rights, Role, Scope, Tokens,
        tokens::{
            Listed,
            draft::{self, NewToken, NoSuchToken},
        },
    },
    http::Problem,
    store::Error,
};

type Answer = Result<Response, Problem>;

/// A token that is to be made. What is left out binds it to nothing in particular.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewToken)]
struct Wish {
    /// What people call it; one valid token has it at a time.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// The most that it may do.
    role: Role,
    /// What it is good for, as its role allows.
    #[schema(min_items = 1)]
    scopes: BTreeSet<Scope>,
    /// The only upstreams that it may call or see.
    #[serde(default)]
    upstreams: BTreeSet<String>,
    /// The only apps whose budgets it may charge or steer.
    #[serde(default)]
    apps: BTreeSet<String>,
    /// The only sites whose events it may report.
    #[serde(default)]
    sites: BTreeSet<String>,
    /// The lane of calls that name none: `foreground` or `background`.
    #[schema(pattern = "^(foreground|background)$")]
    lane: Option<String>,
    /// Whether it may say by header for which user it calls.
    #[serde(default)]
    act_for_users: bool,
    /// When it ends: after so long, like `90d`, or at an instant of RFC 3339; left out: never.
    #[schema(example = "90d")]
    expires: Option<String>,
}

/// A token: nothing of its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
struct Shown {
    #[schema(pattern = "^[0-9a-f]{16}$")]
    id: String,
    name: String,
    /// Left out: what the database has is damaged, and lets nobody in.
    #[serde(flatten)]
    rights: Option<ShownRights>,
    #[schema(format = DateTime)]
    created_at: String,
    /// Left out: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// To the minute after a restart; left out: never yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_used_at: Option<String>,
}

/// What a token may do.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenRights)]
struct ShownRights {
    role: Role,
    scopes: BTreeSet<Scope>,
    upstreams: BTreeSet<String>,
    apps: BTreeSet<String>,
    sites: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    act_for_users: bool,
}

/// Some tokens, the oldest first.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenPage)]
struct Page {
    tokens: Vec<Shown>,
    /// Where the next page begins; left out: this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A new token, and its secret, which is shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = MadeToken)]
struct Made {
    /// `spw_…`: it is never shown again.
    token: String,
    #[serde(flatten)]
    shown: Shown,
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(revoke))
}

/// List the tokens
///
/// Those that are not revoked, the expired ones too. It takes a token that is bound to nothing.
#[utoipa::path(
    get,
    path = "/api/v1/tokens",
    tag = "access",
    operation_id = "listTokens",
    params(pages::Paging),
    responses(
        (status = 200, description = "Some of them", body = Page),
        (status = 409, description = "`open`: this server asks for none"),
        (status = 503, description = "`storage`: they cannot be read"),
    )
)]
async fn list(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Answer {
    caller.may_see_all()?;
    let tokens = tokens(&api)?;
    let paging = pages::read(query.as_deref())?;
    let all = tokens.list().await.map_err(unwritten)?;
    let (some, next_cursor) = paging.of(all, |token| &token.id)?;
    let tokens = some.into_iter().map(Shown::from).collect();
    Ok(no_store(Json(Page {
        tokens,
        next_cursor,
    })))
}

/// Make a token
///
/// It counts at once. Its secret stands in this answer and nowhere else.
#[utoipa::path(
    post,
    path = "/api/v1/tokens",
    tag = "access",
    operation_id = "createToken",
    request_body = Wish,
    responses(
        BodyRefused,
        (status = 201, description = "It is made", body = Made),
        (status = 409, description = "`open`: this server asks for none; `name_taken`: another valid token has the name; `too_many`: as many are valid as may be"),
        (status = 503, description = "`storage`: it cannot be written down, and was not made"),
    )
)]
async fn create(State(api): State<Api>, request: Request) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let caller = parts.extensions.get::<Caller>().cloned();
    let by = api.trail.by(&parts);
    let Body(wish) = Body::<Wish>::from_request(Request::from_parts(parts, body), &api).await?;
    let made = async {
        unbound(caller.as_ref())?;
        let tokens = tokens(&api)?;
        let new = wish.checked()?;
        let names: Vec<_> = api.limiters.all().iter().map(|it| it.name()).collect();
        let drafted = new.draft(&names, Timestamp::now());
        let (secret, token) = drafted.map_err(|not| bad_field(words(&not)))?;
        tokens.add(&token, &by).await.map_err(unwritten)?;
        let made = Made {
            token: secret.reveal(),
            shown: Listed::from(token).into(),
        };
        Ok((StatusCode::CREATED, no_store(Json(made))).into_response())
    };
    made.await
        .map_err(|problem: Problem| problem.into_response())
}

/// Revoke a token
///
/// Its holder is refused at once, and what waits in its name ends.
#[utoipa::path(
    delete,
    path = "/api/v1/tokens/{id}",
    tag = "access",
    operation_id = "revokeToken",
    params(("id" = String, Path, description = "Names it")),
    responses(
        (status = 204, description = "It lets nobody in any more"),
        (status = 404, description = "`not_found`: no valid token has this id"),
        (status = 409, description = "`open`: this server asks for none"),
        (status = 503, description = "`storage`: it cannot be written down, and was not done"),
    )
)]
async fn revoke(
    State(api): State<Api>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Answer {
    let (parts, _) = request.into_parts();
    let Ok(Path(id)) = id else {
        return Err(Problem::not_found());
    };
    unbound(parts.extensions.get())?;
    let by = api.trail.by(&parts);
    let revoked = tokens(&api)?.revoke(&id, Timestamp::now(), &by).await;
    match revoked.map_err(unwritten)? {
        Some(_) => Ok(StatusCode::NO_CONTENT.into_response()),
        None => Err(Problem::not_found()),
    }
}

/// Who is bound to a part makes nothing that is not.
pub(super) fn unbound(caller: Option<&Caller>) -> Result<(), Problem> {
    let caller = caller.unwrap_or(&Caller::Guest);
    caller.may_see_all()?;
    caller.may_steer(None)?;
    Ok(())
}

fn tokens(api: &Api) -> Result<&Tokens, Problem> {
    let open = || {
        let title = "This server asks for no tokens";
        Problem::new(StatusCode::CONFLICT, "open", title)
    };
    api.access.tokens().ok_or_else(open)
}

pub(super) fn no_store(body: impl IntoResponse) -> Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, body).into_response()
}

/// What the database says against it.
pub(super) fn unwritten(error: Error) -> Problem {
    let (status, code, title) = match error {
        Error::NameTaken | Error::AccountNameTaken => {
            (StatusCode::CONFLICT, "name_taken", "The name is taken")
        }
        Error::TooMany(_) | Error::TooManyAccounts(_) => (
            StatusCode::CONFLICT,
            "too_many",
            "There are as many as may be",
        ),
        Error::LastAdmin => (StatusCode::CONFLICT, "last_admin", "This is the only admin"),
        _ => (
            StatusCode::SERVICE_UNAVAILABLE,
            "storage",
            "The database does not do this now",
        ),
    };
    Problem::new(status, code, title).detail(error.to_string())
}

/// An error with its cause.
fn words(not: &NoSuchToken) -> String {
    match std::error::Error::source(not) {
        Some(cause) => format!("{not}: {cause}"),
        None => not.to_string(),
    }
}

impl Wish {
    fn checked(self) -> Result<NewToken, Problem> {
        let field = |what: &'static str| move |why: String| bad_field(format!("{what} {why}"));
        for (what, keys) in [("apps", &self.apps), ("sites", &self.sites)] {
            for key in keys {
                draft::key(key).map_err(field(what))?;
            }
        }
        let lane = self.lane.as_deref().map(draft::lane).transpose();
        let expires = self.expires.as_deref().map(draft::expiry).transpose();
        Ok(NewToken {
            name: draft::name(&self.name).map_err(field("name"))?,
            rights: Rights {
                role: self.role,
                scopes: self.scopes,
                upstreams: self.upstreams,
                apps: self.apps,
                sites: self.sites,
                lane: lane.map_err(field("lane"))?,
                act_for_users: self.act_for_users,
            },
            expires: expires.map_err(field("expires"))?,
        })
    }
}

impl From<Listed> for Shown {
    fn from(token: Listed) -> Self {
        Self {
            id: token.id,
            name: token.name,
            rights: token.rights.map(ShownRights::from),
            created_at: instant(token.created_at_ms),
            expires_at: token.expires_at_ms.map(instant),
            last_used_at: token.last_used_at_ms.map(instant),
        }
    }
}

impl From<Rights> for ShownRights {
    fn from(rights: Rights) -> Self {
        Self {
            role: rights.role,
            scopes: rights.scopes,
            upstreams: rights.upstreams,
            apps: rights.apps,
            sites: rights.sites,
            lane: rights.lane.map(|lane| lane.to_string()),
            act_for_users: rights.act_for_users,
        }
    }
}
