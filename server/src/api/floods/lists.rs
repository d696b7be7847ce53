//! What is shown of a site's lists.

use axum::{Json, extract::RawQuery, response::IntoResponse as _};
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::Serialize;
use spillway::flood::ListKey;
use utoipa::ToSchema;

use super::{
    asked::{Asked, OfList, OfSite, storage},
    letters::Letter,
};
use crate::{
    api::query::{bad, once, pairs, unknown},
    floods::{ComponentState, ListState},
    http::Problem,
    store::FloodEntry,
};

/// The most lists of one page.
const LISTS_MAX: usize = 1_000;

/// As many, where nothing is said.
const LISTS_SHOWN: usize = 100;

/// The most of a list's history that is shown.
const HISTORY_MAX: u32 = 1_000;

/// The most letters about a list that are shown.
const LETTERS_MAX: u32 = 100;

type Answer = Result<axum::response::Response, Problem>;

/// A page of a site's lists.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodLists)]
struct Page {
    /// Those in trouble first, then by name. Lists on which nothing is remembered are left out.
    lists: Vec<List>,
    /// Where the next page begins; left out: this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A list as it is now. Texts are as they were given: show them as text, never as markup.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodList)]
struct List {
    site: String,
    list: String,
    /// When its own pause ends; left out: it is not paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    paused_until: Option<String>,
    /// When its site's pause ends; left out: that is not paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    site_paused_until: Option<String>,
    /// Those that events were reported of.
    components: Vec<Component>,
}

/// A component on a list.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodListComponent)]
struct Component {
    #[schema(pattern = "^(action|alert|item_id|summary)$")]
    component: &'static str,
    /// `disabled`; `stopping`: the minute's further events are stopped; else `open`.
    #[schema(pattern = "^(open|stopping|disabled)$")]
    state: &'static str,
    /// The events counted in the running minute.
    count: u32,
    /// Today's strikes.
    strikes: u32,
    per_minute: u32,
    strikes_per_day: u32,
    grace: u32,
    /// Left out: it is not disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    disabled_since: Option<String>,
}

/// A list and what happened to it.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodListDetail)]
struct Detail {
    #[serde(flatten)]
    list: List,
    /// Newest first, at most 1,000, of the last 30 days; its site's pauses included.
    history: Vec<Entry>,
    /// What its site's admins were told, newest first, at most 100, of the last 30 days: one for
    /// each of them and each time that a component was disabled.
    letters: Vec<Letter>,
}

/// Something that happened to a list.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodHistoryEntry)]
struct Entry {
    #[schema(format = DateTime)]
    at: String,
    #[schema(pattern = "^(strike|enable|pause|resume)$")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<&'static str>,
    /// A strike's number within its day.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    /// The events of the minute that was a strike.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    /// Whether the strike disabled the component.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disables: bool,
    /// When a pause was to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    until: Option<String>,
    /// Who did it; left out: the guard.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Show a site's lists, those in trouble first
#[utoipa::path(
    get,
    path = "/api/v1/sites/{site}/lists",
    tag = "floods",
    operation_id = "getLists",
    params(
        OfSite,
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
        (
            "limit" = Option<u16>, Query, minimum = 1, maximum = 1_000,
            description = "The most lists; left out: 100"
        ),
    ),
    responses(
        (status = 200, description = "A page of them", body = Page),
        (status = 404, description = "`not_found`: the path is no UTF-8"),
        (status = 422, description = "`bad_field`"),
    )
)]
pub(super) async fn all(asked: Asked<OfSite>, RawQuery(query): RawQuery) -> Answer {
    let site = asked.site()?;
    let (skip, limit) = page(&query.unwrap_or_default()).map_err(bad)?;
    let lists = asked.api.floods.lists(&site);
    let more = lists.len() > skip.saturating_add(limit);
    let page = Page {
        next_cursor: more.then(|| (skip + limit).to_string()),
        lists: lists
            .into_iter()
            .skip(skip)
            .take(limit)
            .map(List::from)
            .collect(),
    };
    Ok((no_store(), Json(page)).into_response())
}

/// Show a list and what happened to it
#[utoipa::path(
    get,
    path = "/api/v1/sites/{site}/lists/{list}",
    tag = "floods",
    operation_id = "getList",
    params(OfList),
    responses(
        (status = 200, description = "The list", body = Detail),
        (status = 404, description = "`unknown_list`: nothing is remembered of it; `not_found`: the path is no UTF-8"),
        (status = 422, description = "`bad_field`"),
        (status = 503, description = "`storage`: the database does not answer"),
    )
)]
pub(super) async fn one(asked: Asked<OfList>) -> Answer {
    let key = asked.list()?;
    let history = asked
        .api
        .floods
        .history(&key, HISTORY_MAX)
        .await
        .map_err(storage)?;
    let letters = asked.api.floods.letters(&key, LETTERS_MAX).await;
    let letters = letters.map_err(storage)?;
    let list = asked.api.floods.list(&key.site, &key.list);
    if list.is_none() && history.is_empty() {
        let title = "Nothing is remembered of this list";
        let problem = Problem::new(StatusCode::NOT_FOUND, "unknown_list", title);
        return Err(problem.detail(
            "its last quarter of an hour brought no event, and its last 30 days no strike",
        ));
    }
    let clock = asked.api.limiters.clock();
    let detail = Detail {
        list: list.map_or_else(|| quiet(key), List::from),
        history: history
            .into_iter()
            .map(|it| entry(it, |at| clock.timestamp(at)))
            .collect(),
        letters: letters.into_iter().map(Letter::from).collect(),
    };
    Ok((no_store(), Json(detail)).into_response())
}

fn no_store() -> [(header::HeaderName, HeaderValue); 1] {
    [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))]
}

fn quiet(key: ListKey) -> List {
    List {
        site: key.site,
        list: key.list,
        paused_until: None,
        site_paused_until: None,
        components: Vec::new(),
    }
}

/// How many lists are skipped, and how many are shown.
fn page(query: &str) -> Result<(usize, usize), String> {
    let (mut skip, mut limit) = (None, None);
    for pair in pairs(query) {
        let (name, value) = pair?;
        match name.as_str() {
            "cursor" => {
                let no = "the cursor is none that a page of lists gave out";
                once(&mut skip, &name, value.parse().map_err(|_| no)?)
            }
            "limit" => {
                let number = value.parse().ok();
                let number = number.filter(|number| (1..=LISTS_MAX).contains(number));
                let no = || format!("limit must be a whole number from 1 to {LISTS_MAX}");
                once(&mut limit, &name, number.ok_or_else(no)?)
            }
            _ => Err(unknown(&name, "cursor, limit")),
        }?;
    }
    Ok((skip.unwrap_or(0), limit.unwrap_or(LISTS_SHOWN)))
}

pub(super) fn text(at: Timestamp) -> String {
    format!("{at:.3}")
}

impl From<ListState> for List {
    fn from(list: ListState) -> Self {
        Self {
            site: list.site,
            list: list.list,
            paused_until: list.paused_until.map(text),
            site_paused_until: list.site_paused_until.map(text),
            components: list.components.iter().map(Component::from).collect(),
        }
    }
}

impl From<&ComponentState> for Component {
    fn from(it: &ComponentState) -> Self {
        Self {
            component: it.component.name(),
            state: match (it.disabled_since, it.stopping) {
                (Some(_), _) => "disabled",
                (None, true) => "stopping",
                (None, false) => "open",
            },
            count: it.count,
            strikes: it.strikes,
            per_minute: it.policy.per_minute(),
            strikes_per_day: it.policy.strikes_per_day(),
            grace: it.policy.grace(),
            disabled_since: it.disabled_since.map(text),
        }
    }
}

fn entry(it: FloodEntry, at: impl Fn(spillway::Instant) -> Timestamp) -> Entry {
    Entry {
        at: text(at(it.at)),
        kind: it.kind,
        component: it.component.map(spillway::flood::Component::name),
        number: it.number,
        count: it.count,
        disables: it.disables,
        until: it.until.map(|until| text(at(until))),
        actor: it.actor,
        reason: it.reason,
    }
}
