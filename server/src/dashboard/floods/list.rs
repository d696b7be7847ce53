//! The page of lists by trouble.

use axum::{
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header};
use spillway_app::{FloodList, FloodRegion, FloodRow, FloodTotals};

use super::{
    super::Pages,
    asked::{self, PAGES_MAX, ROWS},
    component, live, parts, second,
};
use crate::{
    floods::{Found, FoundRow, Region, Totals},
    http::Problem,
};

/// How many regions are listed.
const REGIONS_SHOWN: usize = 12;

/// How often a page asks again where one wants that, in seconds.
const REFRESH: HeaderValue = HeaderValue::from_static("10");

pub(in crate::dashboard) async fn show(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let (head, _) = request.into_parts();
    let (asked, is_part) = asked::read(query.as_deref().unwrap_or_default());
    let search = asked::search(&asked);
    let Some(found) = pages.desk.looks.look(pages.floods(), search, is_part).await else {
        return busy();
    };
    let (regions, more_regions) = regions(&found.totals);
    let number = asked.page.max(1);
    let page = FloodList {
        visitor: pages.visitor_of(&head),
        as_of: second(pages.entrance.api.limiters().clock().wall_now()),
        rows: found.rows.iter().map(row).collect(),
        matched: found.matched,
        more: is_more(&found, number),
        totals: totals(&found.totals.all),
        regions,
        more_regions,
        told: pages.told(&head, query.as_deref()),
        asked,
    };
    if is_part {
        return parts(spillway_app::floods_live(&page));
    }
    let refreshes = page.asked.refreshes;
    let mut response = live(spillway_app::floods(&pages.options, page));
    if refreshes {
        response.headers_mut().insert(header::REFRESH, REFRESH);
    }
    response
}

pub(super) fn busy() -> Response {
    let title = "Many pages are looking at lists just now";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", title)
        .detail("load the page again in a moment")
        .into_response()
}

/// Whether there is a page after this one.
pub(super) fn is_more(found: &Found, page: usize) -> bool {
    found.matched > page * ROWS && page < PAGES_MAX
}

fn row(row: &FoundRow) -> FloodRow {
    let site = row.site_paused_until.filter(|_| row.paused_until.is_none());
    FloodRow {
        site: row.site.clone(),
        title: row.title.clone(),
        region: row.region.clone(),
        list: row.list.clone(),
        component: row.component.as_ref().map(component),
        paused_until: row.paused_until.or(site).map(second),
        of_site: site.is_some(),
    }
}

fn totals(of: &Region) -> FloodTotals {
    FloodTotals {
        lists: of.lists,
        events: of.events,
        disabled: of.disabled,
        stopping: of.stopping,
        paused: of.paused,
        strikes: of.strikes,
    }
}

/// The regions with the highest load, and how many more there are.
fn regions(of: &Totals) -> (Vec<FloodRegion>, usize) {
    let mut all: Vec<_> = of.regions.iter().collect();
    all.sort_by_key(|(name, it)| (std::cmp::Reverse(it.events), *name));
    let more = all.len().saturating_sub(REGIONS_SHOWN);
    let shown = all.into_iter().take(REGIONS_SHOWN);
    let shown = shown.map(|(name, it)| FloodRegion {
        name: name.clone(),
        totals: totals(it),
    });
    (shown.collect(), more)
}
