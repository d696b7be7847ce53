//! How breakers stood.

use spillway_app::{
    Figure, Legend,
    live::{BreakerState, Scope},
};

use super::{NOTHING, Shown};
use crate::{
    chart::{self, Paint, Row, Span, Stretch, Timeline},
    history::{Point, severity},
};

impl Shown {
    /// The worst breaker of each scope.
    pub(super) fn breakers(&self) -> Option<Result<Figure, chart::Error>> {
        let (_, last) = self.drawn.points.last()?;
        let scopes: Vec<_> = last.breakers.iter().map(|it| it.scope).collect();
        (!scopes.is_empty()).then(|| self.timeline(&scopes))
    }

    fn timeline(&self, scopes: &[Scope]) -> Result<Figure, chart::Error> {
        let title = "Breakers: the worst of each scope";
        let rows = scopes.iter().map(|scope| Row {
            name: scope_name(*scope).to_owned(),
            stretches: self.stretches(*scope),
        });
        let svg = chart::timeline(&Timeline {
            title,
            description: &self.described_states(scopes),
            span: self.span()?,
            rows: rows.collect(),
        })?;
        let legend = STATES.map(|state| Legend {
            class: look(state).1,
            words: state_name(state).to_owned(),
        });
        let names = scopes.iter().map(|scope| scope_name(*scope).to_owned());
        let values = |point: Option<&Point>| {
            let state = |scope: &Scope| {
                let state = point.and_then(|point| state_of(point, *scope));
                state.map_or(NOTHING, state_name).to_owned()
            };
            scopes.iter().map(state).collect()
        };
        Ok(Figure {
            title: title.to_owned(),
            svg,
            legend: legend.to_vec(),
            head: std::iter::once("From".to_owned()).chain(names).collect(),
            rows: self.table(values),
        })
    }

    /// States of a scope, equal ones that follow each other as one.
    fn stretches(&self, scope: Scope) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (at_ms, point) in &self.drawn.points {
            let end = (at_ms + self.drawn.step_ms).min(self.drawn.until_ms);
            let (Some(state), Some(mut span)) = (state_of(point, scope), Span::new(*at_ms, end))
            else {
                continue;
            };
            let (paint, _, height_permille) = look(state);
            if let Some(last) = stretches.last().copied()
                && last.span.until_ms() == *at_ms
                && last.height_permille == height_permille
            {
                stretches.pop();
                span = Span::new(last.span.from_ms(), end).unwrap_or(span);
            }
            stretches.push(Stretch {
                span,
                paint,
                height_permille,
            });
        }
        stretches
    }

    fn described_states(&self, scopes: &[Scope]) -> String {
        let said = |scope: &Scope| {
            let states = self
                .drawn
                .points
                .iter()
                .filter_map(|(_, it)| state_of(it, *scope));
            let worst = states.max_by_key(|state| severity(*state));
            let worst = worst.map_or("nothing", state_name);
            [scope_name(*scope), ": at worst ", &worst.to_lowercase()].concat()
        };
        scopes.iter().map(said).collect::<Vec<_>>().join("; ") + "."
    }
}

const STATES: [BreakerState; 5] = [
    BreakerState::Closed,
    BreakerState::Soft,
    BreakerState::Recovering,
    BreakerState::HalfOpen,
    BreakerState::Open,
];

/// A state's colour, the class of it, and how high its bar is.
const fn look(state: BreakerState) -> (Paint, &'static str, u16) {
    match state {
        BreakerState::Closed => (Paint::Clear, "clear", 200),
        BreakerState::Soft => (Paint::Back, "back", 400),
        BreakerState::Recovering => (Paint::Fore, "fore", 600),
        BreakerState::HalfOpen => (Paint::Near, "near", 800),
        BreakerState::Open => (Paint::Full, "full", 1_000),
    }
}

const fn state_name(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "Closed",
        BreakerState::Soft => "Soft",
        BreakerState::Recovering => "Recovering",
        BreakerState::HalfOpen => "Half-open",
        BreakerState::Open => "Open",
    }
}

const fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::App => "App",
        Scope::Tenant => "Tenants",
        Scope::User => "Users",
    }
}

fn state_of(point: &Point, scope: Scope) -> Option<BreakerState> {
    let found = point.breakers.iter().find(|it| it.scope == scope);
    found.map(|it| it.state)
}
