//! The page of one workload: what is true now, what was, and its users a page at a time.

mod asked;
mod charts;

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Path, RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use spillway::Trouble;
use spillway_app::{Show, UserList, WorkloadPage};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use super::{Pages, plain};
use crate::{
    history::History,
    http::Problem,
    limiter::{Limiter, Limiters, UserPage, UserSearch, WorkloadIndex},
};
use asked::Asked;

/// How many users a page lists.
const USERS_SHOWN: usize = 50;

/// From here on a user is near a limit, per mille: where the gauges turn amber.
const NEAR_PERMILLE: u64 = 800;

/// How many pages look for users at a time: each keeps a core busy, with 100,000 users for some
/// hundredths of a second.
const SEARCHES_MAX: usize = 2;

/// How often a page asks again where one wants that, in seconds: as the page says.
const REFRESH: HeaderValue = HeaderValue::from_static("10");

/// How long a page waits for its turn.
const TURN_WITHIN: Duration = Duration::from_secs(5);

/// What the page is made of.
#[derive(Clone, Debug)]
pub struct Workloads {
    limiters: Arc<Limiters>,
    history: History,
    searches: Arc<Semaphore>,
}

impl Workloads {
    /// Of these limiters and of their past.
    #[must_use]
    pub fn new(limiters: Arc<Limiters>, history: History) -> Self {
        Self {
            limiters,
            history,
            searches: Arc::new(Semaphore::new(SEARCHES_MAX)),
        }
    }

    /// The users that are asked for; `None`: no turn came.
    async fn users(&self, upstream: &str, workload: &str, asked: &Asked) -> Option<UserList> {
        let turn = timeout(TURN_WITHIN, Arc::clone(&self.searches).acquire_owned());
        let turn = turn.await.ok()?.ok()?;
        let limiters = Arc::clone(&self.limiters);
        let (upstream, workload) = (upstream.to_owned(), workload.to_owned());
        let mut search = search(asked);
        let found = spawn_blocking(move || {
            let found = find(&limiters, &upstream, &workload, &search).or_else(|| {
                search.cursor = None;
                find(&limiters, &upstream, &workload, &search)
            });
            drop(turn);
            (found.unwrap_or_default(), search.cursor)
        });
        let (found, cursor) = found.await.ok()?;
        let lost = asked.after.is_some() && cursor.is_none();
        Some(UserList {
            budgets: found.users,
            text: asked.find.clone(),
            show: asked.show,
            after: cursor,
            next: found.next_cursor,
            matched: found.matched,
            total: found.total,
            wrong: asked.wrong.clone().or_else(|| {
                lost.then(|| "There is no such page of users; this is the first.".to_owned())
            }),
        })
    }
}

fn search(asked: &Asked) -> UserSearch {
    UserSearch {
        text: asked.find.clone(),
        trouble: match asked.show {
            Show::All => Trouble::Any,
            Show::Near => Trouble::Near(NEAR_PERMILLE),
            Show::Stopped => Trouble::Stopped,
            Show::Tripped => Trouble::Tripped,
        },
        cursor: asked.after.clone(),
        max: USERS_SHOWN,
    }
}

/// `None`: the cursor is no page's.
fn find(
    limiters: &Limiters,
    upstream: &str,
    workload: &str,
    search: &UserSearch,
) -> Option<UserPage> {
    let (limiter, workload) = place(limiters, upstream, workload)?;
    limiter.find_users(workload, search).ok()
}

/// The workload of this name, and who limits it.
fn place<'a>(
    limiters: &'a Limiters,
    upstream: &str,
    workload: &str,
) -> Option<(&'a Limiter, WorkloadIndex)> {
    let mut all = limiters.all().iter();
    let limiter = all.find(|limiter| limiter.name() == upstream)?;
    let index = limiter.limited().position(|name| name == workload)?;
    Some((limiter, index))
}

/// The page; of limits that there are.
pub(super) async fn show(
    State(pages): State<Pages>,
    Path((upstream, workload)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let sources = &pages.workloads;
    if place(&sources.limiters, &upstream, &workload).is_none() {
        return pages.nowhere(request).await;
    }
    let asked = Asked::read(&query.unwrap_or_default());
    let Some(users) = sources.users(&upstream, &workload, &asked).await else {
        let title = "Many pages are looking for users just now";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", title);
        return problem
            .detail("load the page again in a moment")
            .into_response();
    };
    let mut state = pages.backend.recent();
    state.upstreams.retain(|it| it.name == upstream);
    let now_ms = Timestamp::now().as_millisecond();
    let past = sources
        .history
        .past(&upstream, &workload, asked.range, now_ms)
        .await;
    let charts::Charts {
        figures,
        has_gaps,
        note,
    } = charts::charts(past, asked.range);
    let page = WorkloadPage {
        visitor: pages.visitor(&request),
        state,
        users,
        range: asked.range.name(),
        figures,
        has_gaps,
        note,
        refreshes: asked.refreshes,
        upstream,
        workload,
    };
    let refreshes = page.refreshes;
    let page = spillway_app::workload_page(&pages.options, page);
    let mut response = plain(StatusCode::OK, page);
    if refreshes {
        let headers = response.headers_mut();
        headers.insert(header::REFRESH, REFRESH);
    }
    response
}
