//! When a list's events are a flood: each component's policy, versioned as limits are.

use axum::{Json, extract::RawQuery, response::IntoResponse as _};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use spillway::flood::Component;
use utoipa::ToSchema;

use super::asked::{Asked, OfComponent, storage};
use crate::{
    api::{
        json::{Body, BodyRefused},
        named::reason,
        policies::{base, etag, page},
        query::bad,
    },
    audit::By,
    floods::{FloodDocument, FloodEdit},
    http::Problem,
    store::{self, StoredPolicy},
};

type Answer = Result<axum::response::Response, Problem>;

/// A policy as it is to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FloodPolicyChange)]
pub(super) struct Wish {
    policy: FloodDocument,
    /// One line for the history and the audit log.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// The version whose policy is to be in force again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FloodPolicyRollback)]
pub(super) struct Back {
    #[schema(minimum = 1)]
    version: i64,
    /// One line for the history and the audit log.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// One version of a component's policy. Texts are as they were given: show them as text.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPolicyVersion)]
struct Version {
    #[schema(pattern = "^(action|alert|item_id|summary)$")]
    component: &'static str,
    /// From 1 upwards, without gaps.
    #[schema(minimum = 1)]
    version: i64,
    /// Left out: it cannot be read, so it was never in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<FloodDocument>,
    /// Why it was made.
    reason: String,
    /// Who made it.
    author: String,
    #[schema(format = DateTime)]
    created_at: String,
}

/// A page of the history.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPolicyVersions)]
struct Versions {
    /// Newest first.
    versions: Vec<Version>,
    /// Where the next page begins; left out: this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Show a component's flood policy
///
/// The newest version, in force; `ETag` is its number.
#[utoipa::path(
    get,
    path = "/api/v1/flood-policies/{component}",
    tag = "floods",
    operation_id = "getFloodPolicy",
    params(OfComponent),
    responses(
        (status = 200, description = "The newest version", body = Version),
        (status = 404, description = "`unknown_component`"),
        (status = 503, description = "`storage`: the database does not answer"),
    )
)]
pub(super) async fn get(asked: Asked<OfComponent>) -> Answer {
    let component = asked.component()?;
    let newest = asked.api.floods.policy(component).await.map_err(storage)?;
    Ok(answer(component, &newest))
}

/// Change a component's flood policy
///
/// It is in force from the next event on. What was counted counts.
#[utoipa::path(
    put,
    path = "/api/v1/flood-policies/{component}",
    tag = "floods",
    operation_id = "putFloodPolicy",
    params(OfComponent, ("If-Match" = String, Header, description = "`ETag` of the version that was looked at", example = "\"3\"")),
    request_body(content = Wish, example = json!({
        "policy": {
            "per_minute": 100, "strikes_per_day": 20, "grace": 3,
            "lists": [{ "site": "s1", "list": "l1", "per_minute": 500, "strikes_per_day": 20, "grace": 3 }]
        },
        "reason": "the import list is busier"
    })),
    responses(
        BodyRefused,
        (status = 200, description = "The newest version, in force now; `ETag` is its number", body = Version),
        (status = 400, description = "`bad_header`: `If-Match` is not one version's `ETag`"),
        (status = 404, description = "`unknown_component`"),
        (status = 412, description = "`version_conflict`: somebody was first; `base` is the version that was named, `current` the newest"),
        (status = 422, description = "`bad_field`; `bad_policy`"),
        (status = 428, description = "`precondition_required`: name the version that was looked at by `If-Match`"),
        (status = 503, description = "`storage`: the database cannot be written; nothing is changed"),
    )
)]
pub(super) async fn put(
    asked: Asked<OfComponent>,
    headers: HeaderMap,
    Body(wish): Body<Wish>,
) -> Answer {
    let component = asked.component()?;
    let base = base(&headers)?;
    let by = asked.by.clone().because(reason(&wish.reason)?);
    change(&asked, component, &wish.policy, (base, &by, false)).await
}

/// Puts a policy in force after `base`, for who is named; `back`: it was in force before.
async fn change(
    asked: &Asked<OfComponent>,
    component: Component,
    policy: &FloodDocument,
    (base, by, back): (i64, &By, bool),
) -> Answer {
    let checked = policy.check().map_err(bad_policy)?;
    let edit = FloodEdit {
        base,
        by,
        at_ms: asked.api.limiters.clock().wall_now().as_millisecond(),
        back,
    };
    let floods = &asked.api.floods;
    match floods
        .change_policy(component, policy, &checked, edit)
        .await
    {
        Ok(newest) => Ok(answer(component, &newest)),
        Err(store::Error::Conflict { newest, .. }) => {
            Err(conflict(asked, component, base, &newest).await?)
        }
        Err(error) => Err(storage(error)),
    }
}

pub(super) fn bad_policy(problem: String) -> Problem {
    let title = "This policy cannot be";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_policy", title)
        .detail(format!("policy.{problem}"))
}

/// Put an old version of a component's flood policy in force again
///
/// It becomes a new version, in force from the next event on.
#[utoipa::path(
    post,
    path = "/api/v1/flood-policies/{component}/rollback",
    tag = "floods",
    operation_id = "rollBackFloodPolicy",
    params(OfComponent, ("If-Match" = String, Header, description = "`ETag` of the version that was looked at", example = "\"3\"")),
    request_body(content = Back, example = json!({ "version": 2, "reason": "too many lists were stopped" })),
    responses(
        BodyRefused,
        (status = 200, description = "The newest version, in force now; `ETag` is its number", body = Version),
        (status = 400, description = "`bad_header`: `If-Match` is not one version's `ETag`"),
        (status = 404, description = "`unknown_component`; `unknown_version`"),
        (status = 412, description = "`version_conflict`: somebody was first; `base` is the version that was named, `current` the newest"),
        (status = 422, description = "`bad_field`; `bad_policy`: what that version says can no longer be"),
        (status = 428, description = "`precondition_required`: name the version that was looked at by `If-Match`"),
        (status = 503, description = "`storage`: the database cannot be written; nothing is changed"),
    )
)]
pub(super) async fn roll_back(
    asked: Asked<OfComponent>,
    headers: HeaderMap,
    Body(back): Body<Back>,
) -> Answer {
    let component = asked.component()?;
    let base = base(&headers)?;
    let by = asked.by.clone().because(reason(&back.reason)?);
    let floods = &asked.api.floods;
    let stored = floods.policy_version(component, back.version).await;
    let stored = stored.map_err(storage)?.ok_or_else(|| {
        let title = "There is no such version";
        let detail = format!("{component} has no version {}", back.version);
        Problem::new(StatusCode::NOT_FOUND, "unknown_version", title).detail(detail)
    })?;
    let policy: FloodDocument =
        serde_json::from_str(&stored.document).map_err(|error| bad_policy(error.to_string()))?;
    change(&asked, component, &policy, (base, &by, true)).await
}

/// Show the history of a component's flood policy, newest first
#[utoipa::path(
    get,
    path = "/api/v1/flood-policies/{component}/versions",
    tag = "floods",
    operation_id = "getFloodPolicyVersions",
    params(
        OfComponent,
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
        (
            "limit" = Option<u16>, Query, minimum = 1, maximum = 100,
            description = "The most versions; left out: 20"
        ),
    ),
    responses(
        (status = 200, description = "A page of it", body = Versions),
        (status = 404, description = "`unknown_component`"),
        (status = 503, description = "`storage`: the database does not answer"),
    )
)]
pub(super) async fn versions(asked: Asked<OfComponent>, RawQuery(query): RawQuery) -> Answer {
    let component = asked.component()?;
    let (before, limit) = page(&query.unwrap_or_default()).map_err(bad)?;
    // One more says whether there is a next page.
    let found = asked
        .api
        .floods
        .policy_versions(component, before, limit + 1)
        .await;
    let mut found = found.map_err(storage)?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let last = found.last().filter(|_| more);
    let versions = Versions {
        next_cursor: last.map(|it| it.version.to_string()),
        versions: found.iter().map(|it| Version::of(component, it)).collect(),
    };
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(versions)).into_response())
}

fn answer(component: Component, newest: &StoredPolicy) -> axum::response::Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let mut response = (no_store, Json(Version::of(component, newest))).into_response();
    let tag = etag(newest.version).ok();
    response
        .headers_mut()
        .extend(tag.map(|tag| (header::ETAG, tag)));
    response
}

async fn conflict(
    asked: &Asked<OfComponent>,
    component: Component,
    base: i64,
    newest: &StoredPolicy,
) -> Result<Problem, Problem> {
    let versions = asked
        .api
        .floods
        .policy_versions(component, Some(base.saturating_add(1)), 1);
    let versions = versions.await.map_err(storage)?;
    let base = versions.iter().find(|it| it.version == base);
    let title = "Somebody else changed this policy meanwhile";
    let shown = |it: &StoredPolicy| serde_json::json!(Version::of(component, it));
    let detail = format!(
        "the newest version is {}, not the one that was looked at",
        newest.version
    );
    Ok(
        Problem::new(StatusCode::PRECONDITION_FAILED, "version_conflict", title)
            .detail(detail)
            .with("base", base.map(shown))
            .with("current", shown(newest)),
    )
}

impl Version {
    fn of(component: Component, stored: &StoredPolicy) -> Self {
        let created = Timestamp::from_millisecond(stored.created_at_ms).unwrap_or_default();
        Self {
            component: component.name(),
            version: stored.version,
            policy: serde_json::from_str(&stored.document).ok(),
            reason: stored.reason.clone(),
            author: stored.author.clone(),
            created_at: format!("{created:.3}"),
        }
    }
}
