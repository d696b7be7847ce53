//! What stands in the OpenAPI document of what the permit API is asked and answers, and is built
//! or read elsewhere in another form.

use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, IntoResponses, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{AnyOfBuilder, ArrayBuilder, ObjectBuilder, Schema, SchemaType},
    },
};

use super::asked::{ITEMS_MAX, Wanted};
use crate::limiter::PermitId;

/// A call, or a list of up to 100.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) enum OneOrMany {
    One(Wanted),
    Many(#[schema(inline)] List),
}

/// Calls, each judged by itself: what is no call has a problem in its place.
#[derive(Deserialize)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) struct List(Vec<Wanted>);

impl utoipa::PartialSchema for List {
    fn schema() -> RefOr<Schema> {
        let anything = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
        let item = AnyOfBuilder::new()
            .item(Ref::from_schema_name("Wanted"))
            .item(anything);
        ArrayBuilder::new()
            .items(item)
            .max_items(Some(ITEMS_MAX))
            .description(Some("Each item is judged by itself."))
            .into()
    }
}

impl ToSchema for List {}

/// A permit's name: 128 random bits in base64url.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 22, max_length = 22, pattern = "^[A-Za-z0-9_-]{21}[AQgw]$")]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) struct Id(String);

/// The path of what is done to a permit.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) struct ById {
    /// The permit's name
    #[param(inline)]
    id: Id,
}

/// The answer to what is done to a permit that is not the caller's.
#[derive(IntoResponses)]
#[response(
    status = 404,
    description = "`unknown_permit`: never given to you, or 15 minutes past its expiry"
)]
pub(super) struct Unknown;

/// A permit.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Taken {
    /// Its name.
    #[schema(value_type = String)]
    pub(super) id: PermitId,
    /// For how long it lasts from now on, in milliseconds; 0 where a repeated request's permit
    /// has ended.
    pub(super) ttl_ms: u64,
}

impl Taken {
    /// As JSON. Its name needs no escapes.
    pub(super) fn text(&self) -> String {
        let Self { id, ttl_ms } = self;
        format!(r#"{{"id":"{id}","ttl_ms":{ttl_ms}}}"#)
    }
}

/// What is answered to one call, or in order to several.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) enum TakenOrNot {
    One(Taken),
    Many(Vec<ItemTakenOrNot>),
}

/// A permit, or why there is none.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) enum ItemTakenOrNot {
    Taken(Taken),
    Not(NotTaken),
}

/// A problem in the place of a permit. What follows `detail` is there where its code is
/// `throttled`.
#[derive(Serialize, ToSchema)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) struct NotTaken {
    r#type: String,
    title: String,
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    #[schema(pattern = "^[a-z_]+$")]
    code: String,
    detail: Option<String>,
    #[schema(minimum = 1)]
    retry_after_ms: Option<u64>,
    exact: Option<bool>,
    blocked_by: Option<Obstacle>,
    reason: Option<Reason>,
}

/// There is no room for a call now (RFC 9457).
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
    "title": "There is no room for this call now", "status": 429, "code": "throttled",
    "detail": "no room: user/rate/60s", "retry_after_ms": 1234, "exact": true,
    "blocked_by": { "scope": "user", "dimension": "rate", "window_ms": 60_000 },
    "reason": "limit"
}))]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) struct Throttled {
    r#type: String,
    title: String,
    /// 429.
    #[schema(minimum = 429, maximum = 429)]
    status: u16,
    /// `throttled`.
    #[schema(pattern = "^throttled$")]
    code: String,
    detail: String,
    /// When it would fit, in milliseconds from now.
    #[schema(minimum = 1)]
    retry_after_ms: u64,
    /// Whether only time stands in the way; else others may come first.
    exact: bool,
    blocked_by: Obstacle,
    reason: Reason,
}

/// Where the reason lies: `scope` of a limit, a breaker or a queue; `lane` of a pause.
#[derive(Serialize, ToSchema)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) struct Obstacle {
    scope: Option<spillway_app::live::Scope>,
    dimension: Option<spillway_app::live::Dimension>,
    /// A rate's window in milliseconds.
    window_ms: Option<u64>,
    lane: Option<spillway_app::live::LaneName>,
}

/// What stands in the way.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub(super) enum Reason {
    /// A layer of a budget.
    Limit,
    /// The upstream reported that little is left.
    Soft,
    /// The upstream throttled or failed.
    Breaker,
    /// An operator paused background calls.
    Paused,
    /// Others came first.
    Queue,
}

/// How long a permit lasts.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Renewed {
    /// From now on, in milliseconds.
    pub(super) ttl_ms: u64,
}
