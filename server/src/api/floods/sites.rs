//! Sites: what a platform tells of them.

use axum::{Json, response::IntoResponse as _};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::asked::{Asked, OfSite, storage};
use crate::{
    api::{
        json::{Body, BodyRefused},
        named::bad_field,
    },
    floods::Site,
    http::Problem,
};

type Answer = Result<axum::response::Response, Problem>;

/// What a platform tells of a site.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Site)]
pub(super) struct Document {
    /// What people call it; empty: by its key.
    #[serde(default)]
    #[schema(max_length = 1_024)]
    title: String,
    /// Where people find it, http or https; empty: nowhere.
    #[serde(default)]
    #[schema(max_length = 1_024)]
    url: String,
    /// Who gets its mail.
    #[serde(default)]
    #[schema(max_items = 20)]
    admins: Vec<String>,
    /// Whose midnight ends its days: a name of the IANA database.
    #[serde(default = "utc")]
    #[schema(example = "Europe/Berlin")]
    time_zone: String,
    /// Where it runs; empty: unknown.
    #[serde(default)]
    #[schema(max_length = 64)]
    region: String,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// Show what is known of a site
#[utoipa::path(
    get,
    path = "/api/v1/sites/{site}",
    tag = "floods",
    operation_id = "getSite",
    params(OfSite),
    responses(
        (status = 200, description = "What is known", body = Document),
        (status = 404, description = "`unknown_site`: nobody has told of it"),
        (status = 422, description = "`bad_field`"),
        (status = 503, description = "`storage`: the database does not answer"),
    )
)]
pub(super) async fn get(asked: Asked<OfSite>) -> Answer {
    let name = asked.site()?;
    let site = asked.api.floods.site(&name).await.map_err(storage)?;
    let site = site.ok_or_else(|| {
        let title = "Nobody has told of this site";
        Problem::new(StatusCode::NOT_FOUND, "unknown_site", title)
            .detail("tell of it by PUT; its events are counted without that, and nobody is mailed")
    })?;
    Ok(shown(site))
}

/// Tell of a site, whole
///
/// Its days end by its time zone from now on. What is left out is empty.
#[utoipa::path(
    put,
    path = "/api/v1/sites/{site}",
    tag = "floods",
    operation_id = "putSite",
    params(OfSite),
    request_body(content = Document, example = json!({
        "title": "Orders", "url": "https://example.org/orders", "admins": ["a@example.org"],
        "time_zone": "Europe/Berlin", "region": "eu"
    })),
    responses(
        BodyRefused,
        (status = 200, description = "As it is known now", body = Document),
        (status = 503, description = "`storage`: the database cannot be written"),
    )
)]
pub(super) async fn put(asked: Asked<OfSite>, Body(told): Body<Document>) -> Answer {
    let site = Site {
        site: asked.site()?,
        title: told.title,
        url: told.url,
        admins: told.admins,
        time_zone: told.time_zone,
        region: told.region,
    };
    let zone = site.check().map_err(|bad| bad_field(bad.to_string()))?;
    let put = asked.api.floods.put_site(&site, zone, &asked.by).await;
    put.map_err(storage)?;
    Ok(shown(site))
}

fn shown(site: Site) -> axum::response::Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let document = Document {
        title: site.title,
        url: site.url,
        admins: site.admins,
        time_zone: site.time_zone,
        region: site.region,
    };
    (no_store, Json(document)).into_response()
}
