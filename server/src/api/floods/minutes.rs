//! How many events a list had, by the minute and by the day.

use axum::{Json, response::IntoResponse as _};
use http::{HeaderValue, header};
use jiff::{Timestamp, ToSpan as _, civil};
use serde::Serialize;
use spillway::flood::Component;
use utoipa::ToSchema;

use super::asked::{Asked, OfList, storage};
use crate::{
    floods::{DayPeak, LastHour},
    http::Problem,
};

/// How many events a list had. Those that came while a component was disabled or the list paused
/// were not counted.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodMinutes)]
struct Shown {
    /// When the first of the minutes began.
    #[schema(format = DateTime)]
    from: String,
    /// When the running one, the last, began.
    #[schema(format = DateTime)]
    until: String,
    /// Of each component with events in the last hour or the last 30 days.
    components: Vec<Counts>,
}

/// A component's events.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodCounts)]
struct Counts {
    #[schema(pattern = "^(action|alert|item_id|summary)$")]
    component: &'static str,
    /// Of the last sixty minutes, the running one last. After a restart of the server, minutes of
    /// more than a quarter of an hour ago with less than ten are 0.
    #[schema(min_items = 60, max_items = 60)]
    minutes: Vec<u32>,
    /// The busiest minute of each of the last 30 days with events, the earliest first.
    peaks: Vec<Peak>,
}

/// The busiest minute of a day.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPeak)]
struct Peak {
    /// The site's date.
    #[schema(format = Date, example = "2026-12-01")]
    day: String,
    /// When that minute began.
    #[schema(format = DateTime)]
    at: String,
    count: u32,
}

/// Show how many events a list had by the minute and by the day
#[utoipa::path(
    get,
    path = "/api/v1/sites/{site}/lists/{list}/minutes",
    tag = "floods",
    operation_id = "getListMinutes",
    params(OfList),
    responses(
        (status = 200, description = "How many", body = Shown),
        (status = 404, description = "`not_found`: the path is no UTF-8"),
        (status = 422, description = "`bad_field`"),
        (status = 503, description = "`storage`: the database does not answer"),
    )
)]
pub(super) async fn get(asked: Asked<OfList>) -> Result<axum::response::Response, Problem> {
    let key = asked.list()?;
    let floods = &asked.api.floods;
    let peaks = floods.day_peaks(&key).await.map_err(storage)?;
    let hour = floods.last_hour(&key);
    let counts = Component::ALL
        .into_iter()
        .filter_map(|component| counts(component, &hour, &peaks));
    let shown = Shown {
        from: text(hour.from),
        until: text(hour.until),
        components: counts.collect(),
    };
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(shown)).into_response())
}

/// None: it had no events.
fn counts(component: Component, hour: &LastHour, peaks: &[DayPeak]) -> Option<Counts> {
    let minutes = hour.components.iter().find(|(of, _)| *of == component);
    let peaks: Vec<_> = peaks
        .iter()
        .filter(|peak| peak.component == component)
        .map(Peak::from)
        .collect();
    if minutes.is_none() && peaks.is_empty() {
        return None;
    }
    Some(Counts {
        component: component.name(),
        minutes: minutes.map_or_else(|| vec![0; crate::floods::MINUTES], |it| it.1.to_vec()),
        peaks,
    })
}

impl From<&DayPeak> for Peak {
    fn from(peak: &DayPeak) -> Self {
        let day = civil::date(1970, 1, 1).saturating_add(peak.day.days());
        Self {
            day: day.to_string(),
            at: text(peak.at),
            count: peak.count,
        }
    }
}

fn text(at: Timestamp) -> String {
    format!("{at:.3}")
}
