//! `GET /api/v1/session`: who asks, as the server sees it.

use axum::{
    Extension, Json,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, header};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Caller, Role};

/// Who asks.
#[derive(Debug, Serialize, ToSchema)]
struct Asker {
    /// How the server knows: by a session, by a token, or not at all where it is open.
    kind: Kind,
    /// The account's or the token's name.
    name: Option<String>,
    /// What they may do: `member`, `viewer`, `operator` or `admin`.
    #[schema(pattern = "^(member|viewer|operator|admin)$")]
    role: String,
}

#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AskerKind)]
enum Kind {
    Session,
    Token,
    Anyone,
}

/// Ask who you are
///
/// Pages whose stream broke learn here whether they are still signed in.
#[utoipa::path(
    get,
    path = "/api/v1/session",
    tag = "state",
    operation_id = "getSession",
    responses((status = 200, description = "Who asks", body = Asker))
)]
pub(super) async fn get(Extension(caller): Extension<Caller>) -> Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, Json(asker(&caller))).into_response()
}

fn asker(caller: &Caller) -> Asker {
    let (kind, name, role) = match caller {
        Caller::Session(it) => (Kind::Session, Some(it.person.name.clone()), it.person.role),
        Caller::Token(it) => (Kind::Token, Some(it.name.clone()), it.rights.role),
        Caller::Guest | Caller::Network(_) => (Kind::Anyone, None, Role::Viewer),
        // Where there is nobody to be.
        Caller::Anyone => (Kind::Anyone, None, Role::Admin),
    };
    let role = role.to_string();
    Asker { kind, name, role }
}
