//! Background calls paused, and breakers forced, by plain forms. What is done, and who may, is
//! the API's own: the forms only say it in another way.

mod asked;
mod undo;

use std::time::Instant;

use axum::{
    Router,
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{Method, StatusCode, request::Parts};
use spillway_app::{
    Operate, Sent, Steer, Target, Told,
    live::{Breaker, Pause},
};

use super::{
    Pages,
    door::{Fields, sentence},
    plain,
    told::Sender,
};
use crate::{
    access::Caller,
    api::operations::{Order, Steered},
    http::{Problem, see_other},
    limiter::{self, Limiter},
};
use asked::{target, wish};
pub(super) use undo::{NOTHING, UNDOES, still};

const FOR_OPERATORS: &str = "Takes the role operator.";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/operate", get(show))
        .route("/operate/background", get(show_background))
        .route("/operate/background/pause", post(pause))
        .route("/operate/background/resume", post(resume))
        .route("/operate/breaker", get(show_breaker))
        .route("/operate/breaker/open", post(open))
        .route("/operate/breaker/close", post(close))
        .route("/operate/breaker/reset", post(reset))
}

async fn show(State(pages): State<Pages>, RawQuery(query): RawQuery, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let limiters = pages.entrance.api.limiters();
    let upstreams = limiters.all().iter().map(|limiter| {
        let limited = limiter.limited().map(str::to_owned);
        (limiter.name().to_owned(), limited.collect())
    });
    let pauses = limiters.all().iter().flat_map(|limiter| {
        let pauses = limiter.pauses().into_iter();
        pauses.map(|pause| (limiter.name().to_owned(), pause.into()))
    });
    let page = Operate {
        visitor: pages.visitor_of(&parts),
        upstreams: upstreams.collect(),
        pauses: pauses.collect(),
        forced: limiters.all().iter().flat_map(forced).collect(),
        told: pages.told(&parts, query.as_deref()),
    };
    plain(StatusCode::OK, spillway_app::operate(&pages.options, page))
}

fn forced(limiter: &Limiter) -> impl Iterator<Item = (Target, Breaker)> {
    let names: Vec<_> = limiter.limited().map(str::to_owned).collect();
    let forced = limiter.forced().into_iter();
    forced.map(move |(key, breaker)| {
        let target = Target {
            upstream: limiter.name().to_owned(),
            workload: names.get(key.workload).cloned().unwrap_or_default(),
            scope: asked::scope(key.scope),
            app: key.app,
            tenant: key.tenant,
            user: key.user,
        };
        (target, breaker)
    })
}

async fn show_background(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let fields = Fields::in_address(query.as_deref());
    let (parts, body) = request.into_parts();
    let told = pages.told(&parts, query.as_deref());
    match pages.order(&parts, &fields).background() {
        Ok(now) => {
            let now = now.map(Pause::from);
            pages.background(&parts, StatusCode::OK, &fields, now, told)
        }
        Err(problem) => {
            pages
                .no_target(Request::from_parts(parts, body), problem)
                .await
        }
    }
}

async fn show_breaker(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let fields = Fields::in_address(query.as_deref());
    let (parts, body) = request.into_parts();
    let told = pages.told(&parts, query.as_deref());
    match pages.order(&parts, &fields).breaker() {
        Ok(now) => pages.breaker(&parts, StatusCode::OK, &fields, now, told),
        Err(problem) => {
            pages
                .no_target(Request::from_parts(parts, body), problem)
                .await
        }
    }
}

async fn pause(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let order = pages.order(&parts, &fields);
    let done = match still(&fields, in_force(&order).as_deref()) {
        Ok(()) => order.pause().await.map(live),
        Err(problem) => Err(problem),
    };
    pages.after_background(&parts, &fields, done, |target, steered| {
        undo::paused(target, steered, fields.get("reason"))
    })
}

async fn resume(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let order = pages.order(&parts, &fields);
    let done = match still(&fields, in_force(&order).as_deref()) {
        Ok(()) => order.resume().await.map(live),
        Err(problem) => Err(problem),
    };
    pages.after_background(&parts, &fields, done, undo::resumed)
}

async fn open(state: State<Pages>, request: Request) -> Response {
    force(state, request, Some(true)).await
}

async fn close(state: State<Pages>, request: Request) -> Response {
    force(state, request, Some(false)).await
}

async fn reset(state: State<Pages>, request: Request) -> Response {
    force(state, request, None).await
}

/// Forced open, forced closed, or reset.
async fn force(State(pages): State<Pages>, request: Request, open: Option<bool>) -> Response {
    let (parts, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let order = pages.order(&parts, &fields);
    let now = order.breaker().ok().and_then(|breaker| breaker.until);
    let done = match (still(&fields, now.as_deref()), open) {
        (Err(problem), _) => Err(problem),
        (Ok(()), Some(open)) => order.force(open).await,
        (Ok(()), None) => order.reset().await,
    };
    let target = target(&fields);
    match done {
        Ok(steered) => {
            let told = undo::forced(&target, &steered, open);
            pages.lead(&parts, &target.path(), told)
        }
        Err(problem) => {
            let now = pages.order(&parts, &fields).breaker().unwrap_or_default();
            let (status, told) = (problem.status(), Some(wrong(&problem)));
            pages.breaker(&parts, status, &fields, now, told)
        }
    }
}

impl Pages {
    /// What a form or an address asks for, by whoever has made the request.
    fn order(&self, parts: &Parts, fields: &Fields) -> Order {
        let caller = parts.extensions.get::<Caller>();
        let target = target(fields);
        let now = self.entrance.api.limiters().clock().wall_now();
        Order {
            api: self.entrance.api.clone(),
            caller: caller.cloned().unwrap_or(Caller::Guest),
            by: self.entrance.trail.by(parts),
            wish: wish(fields, &target, now),
            upstream: target.upstream,
            workload: target.workload,
        }
    }

    pub(super) fn told(&self, parts: &Parts, query: Option<&str>) -> Option<Told> {
        let outbox = &self.desk.outbox;
        outbox.take(query, &Sender::of(parts), Instant::now())
    }

    /// Leads to the page at `path`, which then says this.
    pub(super) fn lead(&self, parts: &Parts, path: &str, told: Told) -> Response {
        let outbox = &self.desk.outbox;
        see_other(&outbox.lead(path, Sender::of(parts), told, Instant::now()))
    }

    fn after_background(
        &self,
        parts: &Parts,
        fields: &Fields,
        done: Result<Steered<Option<Pause>>, Problem>,
        told: impl FnOnce(&Target, &Steered<Option<Pause>>) -> Told,
    ) -> Response {
        let target = target(fields);
        match done {
            Ok(steered) => self.lead(parts, &target.path(), told(&target, &steered)),
            Err(problem) => {
                let now = self.order(parts, fields).background().ok().flatten();
                let now = now.map(Pause::from);
                let (status, told) = (problem.status(), Some(wrong(&problem)));
                self.background(parts, status, fields, now, told)
            }
        }
    }

    fn background(
        &self,
        parts: &Parts,
        status: StatusCode,
        fields: &Fields,
        now: Option<Pause>,
        told: Option<Told>,
    ) -> Response {
        let page = self.steer(parts, fields, now, told);
        plain(status, spillway_app::background(&self.options, page))
    }

    fn breaker(
        &self,
        parts: &Parts,
        status: StatusCode,
        fields: &Fields,
        now: Breaker,
        told: Option<Told>,
    ) -> Response {
        let page = self.steer(parts, fields, now, told);
        plain(status, spillway_app::breaker(&self.options, page))
    }

    fn steer<T>(&self, parts: &Parts, fields: &Fields, now: T, told: Option<Told>) -> Steer<T> {
        let visitor = self.visitor_of(parts);
        Steer {
            why_not: match visitor.may_operate {
                true => String::new(),
                false => FOR_OPERATORS.to_owned(),
            },
            visitor,
            target: target(fields),
            now,
            sent: sent(parts, fields),
            told,
        }
    }

    /// Where an address names nothing that can be steered.
    async fn no_target(&self, request: Request, problem: Problem) -> Response {
        if problem.status() == StatusCode::NOT_FOUND {
            return self.nowhere(request).await;
        }
        let (parts, _) = request.into_parts();
        self.lead(&parts, "/operate", wrong(&problem))
    }
}

/// What the form said, where one was sent.
pub(super) fn sent(parts: &Parts, fields: &Fields) -> Sent {
    if parts.method != Method::POST {
        return Sent::default();
    }
    let act = parts.uri.path().rsplit('/').next().unwrap_or_default();
    let typed = |name| fields.get(name).to_owned();
    Sent {
        act: act.to_owned(),
        minutes: typed("minutes"),
        until: typed("until"),
        reason: typed("reason"),
    }
}

/// Until when a pause is in force; `None`: there is none.
fn in_force(order: &Order) -> Option<String> {
    let pause = order.background().ok().flatten();
    pause.map(|pause| Pause::from(pause).until)
}

/// Pauses as pages show them.
fn live(steered: Steered<Option<limiter::Pause>>) -> Steered<Option<Pause>> {
    let Steered { was, now } = steered;
    Steered {
        was: was.map(Pause::from),
        now: now.map(Pause::from),
    }
}

/// A problem as a sentence for people.
fn wrong(problem: &Problem) -> Told {
    Told::wrong(sentence_of(problem))
}

pub(super) fn sentence_of(problem: &Problem) -> String {
    let text = problem.to_json();
    let said = ["detail", "title"].into_iter();
    let said = said.filter_map(|member| text[member].as_str()).next();
    sentence(&said.unwrap_or("It was not done"))
}
