//! `/api/v1/policies`: the limits of each workload, read, changed and rolled back.
//!
//! Who asks for what is read in [`asked`]; what is shown of a version stands in [`shown`].

mod asked;
mod preview;
mod shown;

use axum::{
    Json,
    extract::RawQuery,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use utoipa::{IntoResponses, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Api,
    json::{Body, BodyRefused},
    named,
    query::{bad, once, pairs, unknown},
};
use crate::{
    http::Problem,
    policy::{Document, Edit, Mistake, NotChanged, Place},
    store::{self, StoredPolicy},
};
use asked::{Asked, OfWorkload};

pub(super) use asked::base;
use shown::{Shown, Version, Versions};

/// The most versions of one page.
const VERSIONS_MAX: u32 = 100;

/// As many, where nothing is said.
const VERSIONS_SHOWN: u32 = 20;

type Answer = Result<Response, Problem>;

/// Limits as they are to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyChange)]
struct Wish {
    policy: Document,
    /// One line for the history and the audit log.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// The version whose limits are to be in force again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyRollback)]
struct Back {
    #[schema(minimum = 1)]
    version: i64,
    /// One line for the history and the audit log.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// What all of them may be answered.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
enum Named {
    /// `unknown_upstream`, `unknown_workload`, with the names there are; `not_found`: the path is no UTF-8
    #[response(status = 404)]
    Unknown,
    /// `storage`: the database does not answer, or cannot be written; nothing is changed
    #[response(status = 503)]
    Storage,
}

/// What a change may be answered.
#[derive(IntoResponses)]
#[allow(
    dead_code,
    clippy::large_enum_variant,
    reason = "it stands in the OpenAPI document, and is never made"
)]
enum Changed {
    /// The newest version, in force now; `ETag` is its number
    #[response(status = 200)]
    Now(Shown),
    /// `bad_header`: `If-Match` is not one version's `ETag`
    #[response(status = 400)]
    Header,
    /// `policy_source_file`: the limits are those of the configuration file
    #[response(status = 409)]
    FileRules,
    /// `version_conflict`: somebody was first; `base` is the version that was named, `current` the
    /// newest
    #[response(status = 412)]
    Conflict,
    /// `precondition_required`: name the version that was looked at by `If-Match`
    #[response(status = 428)]
    NoMatch,
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(get, put))
        .routes(routes!(versions))
        .routes(routes!(roll_back))
        .routes(routes!(try_out))
}

/// Show the limits of a workload
///
/// The newest version; `ETag` is its number.
#[utoipa::path(
    get,
    path = "/api/v1/policies/{upstream}/{workload}",
    tag = "policies",
    operation_id = "getPolicy",
    params(OfWorkload),
    responses((status = 200, description = "The newest version", body = Shown), Named)
)]
async fn get(asked: Asked) -> Answer {
    let place = asked.place()?;
    let newest = newest(&asked, &place).await?;
    answer(&asked, &place, &newest)
}

/// Change the limits of a workload
///
/// They are in force when this is answered. Permits that are out stay, and what was counted counts.
#[utoipa::path(
    put,
    path = "/api/v1/policies/{upstream}/{workload}",
    tag = "policies",
    operation_id = "putPolicy",
    params(OfWorkload, ("If-Match" = String, Header, description = "`ETag` of the version that was looked at", example = "\"3\"")),
    request_body(content = Wish, example = json!({
        "policy": { "background_share_permille": 500, "layers": [
            { "scope": "user", "dimension": "rate", "window_ms": 60_000, "limit": 100 }] },
        "reason": "the vendor lowered the limit"
    })),
    responses(
        BodyRefused, Named, Changed,
        (status = 422, description = "`bad_field`; `bad_policy`: `errors` names each mistake by its `field`"),
    )
)]
async fn put(asked: Asked, Body(wish): Body<Wish>) -> Answer {
    let (place, base) = asked.editable()?;
    let by = asked.by.clone().because(named::reason(&wish.reason)?);
    let policy = wish.policy.check(place.scopes()).map_err(bad_policy)?;
    let edit = Edit {
        base,
        by: &by,
        at_ms: asked.now_ms(),
    };
    let changed = asked.api.policies.change(&place, &policy, edit).await;
    settled(&asked, &place, base, changed).await
}

/// Show the history of a workload's limits, newest first
#[utoipa::path(
    get,
    path = "/api/v1/policies/{upstream}/{workload}/versions",
    tag = "policies",
    operation_id = "getPolicyVersions",
    params(
        OfWorkload,
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
        (
            "limit" = Option<u16>, Query, minimum = 1, maximum = 100,
            description = "The most versions; left out: 20"
        ),
    ),
    responses((status = 200, description = "A page of it", body = Versions), Named)
)]
async fn versions(asked: Asked, RawQuery(query): RawQuery) -> Answer {
    let place = asked.place()?;
    let (before, limit) = page(&query.unwrap_or_default()).map_err(bad)?;
    // One more says whether there is a next page.
    let found = asked.api.policies.versions(&place, before, limit + 1).await;
    let mut found = found.map_err(storage)?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let last = found.last().filter(|_| more);
    let versions = Versions {
        next_cursor: last.map(|it| it.version.to_string()),
        versions: found.iter().map(Version::from).collect(),
    };
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(versions)).into_response())
}

/// Put the limits of an old version in force again
///
/// They become a new version, in force when this is answered.
#[utoipa::path(
    post,
    path = "/api/v1/policies/{upstream}/{workload}/rollback",
    tag = "policies",
    operation_id = "rollBackPolicy",
    params(OfWorkload, ("If-Match" = String, Header, description = "`ETag` of the version that was looked at", example = "\"3\"")),
    request_body(content = Back, example = json!({ "version": 2, "reason": "too many refusals" })),
    responses(
        BodyRefused, Named, Changed,
        (status = 404, description = "`unknown_version`"),
    )
)]
async fn roll_back(asked: Asked, Body(back): Body<Back>) -> Answer {
    let (place, base) = asked.editable()?;
    let by = asked.by.clone().because(named::reason(&back.reason)?);
    let edit = Edit {
        base,
        by: &by,
        at_ms: asked.now_ms(),
    };
    let changed = asked
        .api
        .policies
        .roll_back(&place, back.version, edit)
        .await;
    settled(&asked, &place, base, changed).await
}

/// Try limits on the calls of the last quarter of an hour
///
/// An engine of its own gets the same calls at the same times, under the limits in force and under
/// these; nothing is changed. Limits alone are tried: no breaker opens, and who is refused does not
/// come back.
#[utoipa::path(
    post,
    path = "/api/v1/policies/{upstream}/{workload}/preview",
    tag = "policies",
    operation_id = "previewPolicy",
    params(OfWorkload),
    request_body(content = preview::Trial, example = json!({
        "policy": { "background_share_permille": 500, "layers": [
            { "scope": "user", "dimension": "rate", "window_ms": 60_000, "limit": 60 }] }
    })),
    responses(
        BodyRefused, Named,
        (status = 200, description = "What would have become of them", body = preview::Shown),
        (status = 422, description = "`bad_field`; `bad_policy`: `errors` names each mistake by its `field`"),
        (status = 503, description = "`capacity`: one is tried at a time"),
    )
)]
async fn try_out(asked: Asked, Body(trial): Body<preview::Trial>) -> Answer {
    let place = asked.steerable()?;
    let policy = trial.policy.check(place.scopes()).map_err(bad_policy)?;
    let tried = asked.api.policies.preview(&place, policy).await;
    let tried = tried.map_err(|busy| {
        let title = "One preview is made at a time";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", title).detail(busy.to_string())
    })?;
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(preview::Shown::from(&tried))).into_response())
}

async fn newest(asked: &Asked, place: &Place<'_>) -> Result<StoredPolicy, Problem> {
    let newest = asked.api.policies.newest(place).await.map_err(storage)?;
    // Each is seeded before the server is ready.
    newest.ok_or_else(|| storage(store::Error::NoPolicy(place.name.to_owned())))
}

fn answer(asked: &Asked, place: &Place<'_>, newest: &StoredPolicy) -> Answer {
    let headers = [
        (header::ETAG, etag(newest.version)),
        (
            header::CACHE_CONTROL,
            Ok(HeaderValue::from_static("no-store")),
        ),
    ];
    let mut response = Json(Shown::of(&asked.api.policies, place, newest)).into_response();
    for (name, value) in headers {
        response
            .headers_mut()
            .extend(value.ok().map(|it| (name, it)));
    }
    Ok(response)
}

pub(super) fn etag(version: i64) -> Result<HeaderValue, header::InvalidHeaderValue> {
    HeaderValue::try_from(format!("\"{version}\""))
}

/// The answer to a change, done or not.
async fn settled(
    asked: &Asked,
    place: &Place<'_>,
    base: i64,
    changed: Result<StoredPolicy, NotChanged>,
) -> Answer {
    let not = match changed {
        Ok(newest) => return answer(asked, place, &newest),
        Err(not) => not,
    };
    let detail = not.to_string();
    Err(match not {
        NotChanged::FileRules => {
            let title = "The configuration file rules";
            Problem::new(StatusCode::CONFLICT, "policy_source_file", title).detail(detail)
        }
        NotChanged::NoSuchVersion(_) => {
            let title = "There is no such version";
            Problem::new(StatusCode::NOT_FOUND, "unknown_version", title).detail(detail)
        }
        NotChanged::Store(store::Error::Conflict { newest, .. }) => {
            let base = asked.api.policies.version(place, base).await;
            let base = base.map_err(storage)?;
            conflict(detail, base.as_ref(), &newest)
        }
        NotChanged::Store(error) => storage(error),
        NotChanged::Written(_) => storage_with(detail),
    })
}

fn conflict(detail: String, base: Option<&StoredPolicy>, newest: &StoredPolicy) -> Problem {
    let title = "Somebody else changed these limits meanwhile";
    let shown = |it: &StoredPolicy| serde_json::json!(Version::from(it));
    Problem::new(StatusCode::PRECONDITION_FAILED, "version_conflict", title)
        .detail(detail)
        .with("base", base.map(shown))
        .with("current", shown(newest))
}

fn bad_policy(mistakes: Vec<Mistake>) -> Problem {
    let title = "These limits cannot be";
    let mistakes = mistakes.into_iter().map(|it| Mistake {
        field: format!("policy.{}", it.field),
        ..it
    });
    let mistakes: Vec<_> = mistakes.collect();
    let first = mistakes.first();
    let detail = first.map(|it| format!("{}: {}", it.field, it.detail));
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_policy", title)
        .detail(detail.unwrap_or_default())
        .with("errors", serde_json::json!(mistakes))
}

fn storage(error: store::Error) -> Problem {
    storage_with(error.to_string())
}

fn storage_with(detail: String) -> Problem {
    let title = "The limits cannot be read or written now";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).detail(detail)
}

/// Where a page begins, and how long it is.
pub(super) fn page(query: &str) -> Result<(Option<i64>, u32), String> {
    let (mut before, mut limit) = (None, None);
    for pair in pairs(query) {
        let (name, value) = pair?;
        match name.as_str() {
            "cursor" => {
                let version = value.parse().ok().filter(|version| *version > 0);
                let no = "the cursor is none that a page of the history gave out";
                once(&mut before, &name, version.ok_or(no)?)
            }
            "limit" => {
                let number = value.parse().ok();
                let number = number.filter(|number| (1..=VERSIONS_MAX).contains(number));
                let no = || format!("limit must be a whole number from 1 to {VERSIONS_MAX}");
                once(&mut limit, &name, number.ok_or_else(no)?)
            }
            _ => Err(unknown(&name, "cursor, limit")),
        }?;
    }
    Ok((before, limit.unwrap_or(VERSIONS_SHOWN)))
}
