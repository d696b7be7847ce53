//! What each route of the dashboard's listener asks of who asks: one table.
//!
//! A route without a rule is refused, open or not, so that none can be forgotten. What a
//! handler still has to look at is in the [`Caller`] that it gets: which upstreams and apps
//! it may use.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use jiff::Timestamp;

use super::{
    Problem,
    visitors::{self, Visitor},
};
use crate::access::{Access, Caller, Denied, Full, NotValid, Role, Scope, Tokens};

/// What a route asks of who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Nothing.
    Free,
    /// A person who has signed in, with at least this role.
    Page(Role),
    /// A person who has signed in, or any valid token.
    Known,
    /// A token with this scope, or a person who may do as much.
    Token(Scope),
    /// The same with the scope `write`, and at least this role.
    Change(Role),
    /// To look, a token with the scope `read`; for anything else as [`Rule::Change`].
    Edit(Role),
}

const RULES: &[(&str, Rule)] = &[
    ("/healthz", Rule::Free),
    ("/readyz", Rule::Free),
    // There is nothing there.
    ("/api", Rule::Free),
    ("/api/{*rest}", Rule::Free),
    // It describes the program, not what it does.
    ("/api/openapi.json", Rule::Free),
    ("/sign-in", Rule::Free),
    ("/sign-in/provider", Rule::Free),
    // Its state and its code are the provider's word.
    ("/sign-in/callback", Rule::Free),
    // Whoever is not signed in is signed out.
    ("/sign-out", Rule::Free),
    // Its key is the link's.
    ("/set-up", Rule::Free),
    ("/welcome", Rule::Free),
    ("/site", Rule::Free),
    ("/site/enable", Rule::Free),
    ("/site/pause", Rule::Free),
    ("/site/resume", Rule::Free),
    ("/api/v1/session", Rule::Known),
    ("/metrics", Rule::Token(Scope::Metrics)),
    ("/api/v1/state", Rule::Token(Scope::Read)),
    ("/api/v1/live", Rule::Token(Scope::Read)),
    (
        "/api/v1/users/{upstream}/{workload}",
        Rule::Token(Scope::Read),
    ),
    ("/api/v1/permits", Rule::Token(Scope::Permits)),
    ("/api/v1/permits/{id}", Rule::Token(Scope::Permits)),
    ("/api/v1/permits/{id}/complete", Rule::Token(Scope::Permits)),
    ("/api/v1/permits/{id}/renew", Rule::Token(Scope::Permits)),
    (
        "/api/v1/breakers/{upstream}/{workload}/open",
        Rule::Change(Role::Operator),
    ),
    (
        "/api/v1/breakers/{upstream}/{workload}/close",
        Rule::Change(Role::Operator),
    ),
    (
        "/api/v1/breakers/{upstream}/{workload}/reset",
        Rule::Change(Role::Operator),
    ),
    (
        "/api/v1/lanes/{upstream}/background/pause",
        Rule::Change(Role::Operator),
    ),
    (
        "/api/v1/lanes/{upstream}/background/resume",
        Rule::Change(Role::Operator),
    ),
    (
        "/api/v1/policies/{upstream}/{workload}",
        Rule::Edit(Role::Admin),
    ),
    (
        "/api/v1/policies/{upstream}/{workload}/versions",
        Rule::Token(Scope::Read),
    ),
    (
        "/api/v1/policies/{upstream}/{workload}/rollback",
        Rule::Change(Role::Admin),
    ),
    (
        "/api/v1/policies/{upstream}/{workload}/preview",
        Rule::Change(Role::Admin),
    ),
    ("/api/v1/tokens", Rule::Edit(Role::Admin)),
    ("/api/v1/tokens/{id}", Rule::Change(Role::Admin)),
    ("/api/v1/accounts", Rule::Edit(Role::Admin)),
    ("/api/v1/accounts/{id}", Rule::Change(Role::Admin)),
    ("/api/v1/accounts/{id}/link", Rule::Change(Role::Admin)),
    ("/api/v1/accounts/{id}/sessions", Rule::Change(Role::Admin)),
    ("/api/v1/audit", Rule::Token(Scope::Read)),
    ("/api/v1/history", Rule::Token(Scope::Read)),
    ("/api/v1/events", Rule::Token(Scope::Events)),
    (
        "/api/v1/flood-policies/{component}",
        Rule::Edit(Role::Admin),
    ),
    (
        "/api/v1/flood-policies/{component}/versions",
        Rule::Token(Scope::Read),
    ),
    (
        "/api/v1/flood-policies/{component}/rollback",
        Rule::Change(Role::Admin),
    ),
    (
        "/api/v1/flood-policies/{component}/preview",
        Rule::Change(Role::Admin),
    ),
    ("/api/v1/sites/{site}", Rule::Edit(Role::Operator)),
    ("/api/v1/sites/{site}/pause", Rule::Change(Role::Operator)),
    ("/api/v1/sites/{site}/resume", Rule::Change(Role::Operator)),
    ("/api/v1/sites/{site}/lists", Rule::Token(Scope::Read)),
    (
        "/api/v1/sites/{site}/lists/{list}",
        Rule::Token(Scope::Read),
    ),
    (
        "/api/v1/sites/{site}/lists/{list}/minutes",
        Rule::Token(Scope::Read),
    ),
    (
        "/api/v1/sites/{site}/lists/{list}/enable",
        Rule::Change(Role::Operator),
    ),
    (
        "/api/v1/sites/{site}/lists/{list}/pause",
        Rule::Change(Role::Operator),
    ),
    (
        "/api/v1/sites/{site}/lists/{list}/resume",
        Rule::Change(Role::Operator),
    ),
    ("/", Rule::Page(Role::Viewer)),
    ("/users/{upstream}/{workload}", Rule::Page(Role::Viewer)),
    ("/limits", Rule::Page(Role::Viewer)),
    ("/limits/{upstream}/{workload}", Rule::Page(Role::Viewer)),
    (
        "/limits/{upstream}/{workload}/edit",
        Rule::Page(Role::Admin),
    ),
    (
        "/limits/{upstream}/{workload}/rollback",
        Rule::Page(Role::Admin),
    ),
    ("/floods", Rule::Page(Role::Viewer)),
    ("/floods/list", Rule::Page(Role::Viewer)),
    ("/floods/disabled", Rule::Page(Role::Viewer)),
    ("/floods/enable", Rule::Page(Role::Operator)),
    ("/floods/pause", Rule::Page(Role::Viewer)),
    ("/floods/begin-pause", Rule::Page(Role::Operator)),
    ("/floods/resume", Rule::Page(Role::Operator)),
    ("/floods/{site}/{list}", Rule::Page(Role::Viewer)),
    ("/flood-policies", Rule::Page(Role::Viewer)),
    ("/flood-policies/{component}", Rule::Page(Role::Viewer)),
    ("/flood-policies/{component}/edit", Rule::Page(Role::Admin)),
    (
        "/flood-policies/{component}/rollback",
        Rule::Page(Role::Admin),
    ),
    ("/workloads/{upstream}/{workload}", Rule::Page(Role::Viewer)),
    ("/audit", Rule::Page(Role::Viewer)),
    ("/audit.csv", Rule::Page(Role::Viewer)),
    ("/audit/verify", Rule::Page(Role::Viewer)),
    ("/operate", Rule::Page(Role::Viewer)),
    ("/operate/background", Rule::Page(Role::Viewer)),
    ("/operate/background/pause", Rule::Page(Role::Operator)),
    ("/operate/background/resume", Rule::Page(Role::Operator)),
    ("/operate/breaker", Rule::Page(Role::Viewer)),
    ("/operate/breaker/open", Rule::Page(Role::Operator)),
    ("/operate/breaker/close", Rule::Page(Role::Operator)),
    ("/operate/breaker/reset", Rule::Page(Role::Operator)),
    ("/accounts", Rule::Page(Role::Viewer)),
    ("/accounts/new", Rule::Page(Role::Admin)),
    ("/accounts/{id}", Rule::Page(Role::Viewer)),
    ("/accounts/{id}/role", Rule::Page(Role::Admin)),
    ("/accounts/{id}/invite", Rule::Page(Role::Admin)),
    ("/accounts/{id}/disable", Rule::Page(Role::Admin)),
    ("/accounts/{id}/enable", Rule::Page(Role::Admin)),
    ("/accounts/{id}/remove", Rule::Page(Role::Admin)),
    ("/accounts/{id}/sessions/end", Rule::Page(Role::Admin)),
    ("/tokens", Rule::Page(Role::Viewer)),
    ("/tokens/new", Rule::Page(Role::Admin)),
    ("/tokens/revoke", Rule::Page(Role::Admin)),
    ("/alerts", Rule::Page(Role::Viewer)),
    ("/settings", Rule::Page(Role::Member)),
    ("/settings/password", Rule::Page(Role::Member)),
    ("/settings/sessions/end", Rule::Page(Role::Member)),
];

/// The head of a request, as far as rules look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
}

/// Who asks for `route`, as the router knows it, if its rule allows it. Whatever no route matches
/// is looked for among the dashboard's files, which are the same for everybody and everywhere.
///
/// # Errors
/// The answer that refuses it.
pub(crate) async fn caller(
    access: &Access,
    route: Option<&str>,
    head: Head<'_>,
    visitor: &Visitor,
) -> Result<Caller, Response> {
    let Some(rule) = route.map_or(Some(Rule::Free), of) else {
        let title = "No rule says who may ask for this";
        let problem = Problem::new(StatusCode::FORBIDDEN, "no_rule", title);
        return Err(problem.into_response());
    };
    let rule = rule.of(head.method);
    let session = visitor.0.clone().map(Caller::Session);
    let is_page = matches!(rule, Rule::Page(_));
    let caller = match (access, rule) {
        (Access::Open, _) | (_, Rule::Free) => return Ok(Caller::Anyone),
        (Access::Demo(_), _) => session.unwrap_or(Caller::Guest),
        // Pages are for people.
        (Access::Closed(..), _) if is_page => {
            session.ok_or_else(|| visitors::sign_in_first(head.method, head.uri))?
        }
        (Access::Closed(tokens, _), _) => {
            // Who brings a token is the token's holder, whoever else is signed in.
            let is_program = head.headers.contains_key(header::AUTHORIZATION);
            match session.filter(|_| !is_program) {
                Some(session) => session,
                None => holder(tokens, head.headers).await.map_err(unauthorized)?,
            }
        }
    };
    match allowed(&caller, rule) {
        Ok(()) => Ok(caller),
        Err(denied) if is_page => Err(visitors::denied(&denied)),
        Err(denied) => Err(Problem::from(denied).into_response()),
    }
}

impl Rule {
    /// What it asks of who asks by this method.
    fn of(self, method: &Method) -> Self {
        match self {
            Self::Edit(_) if method.is_safe() => Self::Token(Scope::Read),
            Self::Edit(role) => Self::Change(role),
            other => other,
        }
    }
}

/// Whether whoever asks for this route has to bring a token or sign in, unless the server is
/// open.
pub(crate) fn needs_token(route: &str) -> bool {
    !matches!(of(route), None | Some(Rule::Free | Rule::Page(_)))
}

/// The rule of a route as it was made; none: it has none.
fn of(route: &str) -> Option<Rule> {
    let mut rules = RULES.iter();
    rules
        .find(|(path, _)| *path == route)
        .map(|(_, rule)| *rule)
}

fn allowed(caller: &Caller, rule: Rule) -> Result<(), Denied> {
    match rule {
        Rule::Token(scope) => caller.is_for(scope),
        Rule::Change(role) | Rule::Edit(role) => {
            caller.is_for(Scope::Write)?;
            caller.is_at_least(role)
        }
        Rule::Page(role) => caller.is_at_least(role),
        Rule::Free | Rule::Known => Ok(()),
    }
}

/// The holder of the only token in `Authorization`.
async fn holder(tokens: &Tokens, headers: &HeaderMap) -> Result<Caller, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        let title = "Send one Authorization header, not several";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_header", title));
    }
    let token = first.and_then(bearer).ok_or_else(|| {
        unknown(
            "send a token made by `spillway token create` as Authorization: Bearer spw_…, or sign in",
        )
    })?;
    let token = tokens.find(token, Timestamp::now()).await;
    token.map(Caller::Token).map_err(problem)
}

/// The answer to who holds a token that is not valid, or no more.
pub(crate) fn not_valid(not: NotValid) -> Response {
    unauthorized(problem(not))
}

pub(super) fn problem(not: NotValid) -> Problem {
    if not != NotValid::Unreadable {
        return unknown(not.to_string());
    }
    let title = "Nobody can be let in now";
    let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title);
    problem.detail(not.to_string())
}

fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let whole = value.as_bytes().trim_ascii();
    let (scheme, token) = whole.split_at_checked("bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

fn unknown(detail: impl Into<std::borrow::Cow<'static, str>>) -> Problem {
    let title = "Whoever asks must bring a valid token";
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", title).detail(detail)
}

/// A 401 names the scheme that is asked for (RFC 9110, 11.6.1).
fn unauthorized(problem: Problem) -> Response {
    let mut response = problem.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer realm=\"spillway\"");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

impl From<Full> for Problem {
    fn from(full: Full) -> Self {
        let title = "One caller may not take more";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", title).detail(full.to_string())
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Self {
        let code = match denied {
            Denied::Scope(_) | Denied::ForPrograms(_) => "scope_missing",
            Denied::Role { .. } | Denied::Guest(_) => "role_missing",
            Denied::Upstream(_) | Denied::AllUpstreams(_) => "upstream_not_allowed",
            Denied::Site(_) | Denied::NoSite | Denied::AllSites | Denied::OnlySites => {
                "site_not_allowed"
            }
            Denied::App { .. } | Denied::AllApps(_) => "app_not_allowed",
            Denied::AppMissing(_) => "app_missing",
            Denied::User => "user_not_allowed",
        };
        Self::new(StatusCode::FORBIDDEN, code, "The caller may not do this")
            .detail(denied.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_some_route_s_and_there_once() {
        for (n, (path, _)) in RULES.iter().enumerate() {
            assert!(
                RULES[n + 1..].iter().all(|(other, _)| other != path),
                "{path}"
            );
        }
    }

    /// The routes are read from how the router prints itself, as it cannot be asked.
    #[test]
    fn every_route_of_the_api_has_a_rule() {
        let (router, _) = crate::api::described().split_for_parts();
        let printed = format!("{router:?}");
        let routes: Vec<_> = printed
            .split('"')
            // The router's own, for what matches nothing.
            .filter(|part| part.starts_with('/') && !part.contains("__private__"))
            .collect();
        assert!(routes.contains(&"/api/v1/state"), "{printed}");
        assert!(routes.contains(&"/api/v1/permits/{id}/renew"), "{printed}");
        for route in routes {
            assert!(of(route).is_some(), "{route} has no rule");
        }
    }

    /// Who is shown a way may go it, and who is shown none may not.
    #[test]
    fn the_ways_to_the_pages_ask_for_what_their_rules_do() {
        for (path, asks) in spillway_app::ways() {
            let role = match of(path) {
                Some(Rule::Page(role)) => role.to_string(),
                other => panic!("{path}: {other:?}"),
            };
            assert_eq!(role, asks, "{path}");
        }
    }

    #[test]
    fn every_page_has_a_rule() {
        let printed = format!("{:?}", crate::dashboard::described());
        let routes = printed.split('"').filter(|part| part.starts_with('/'));
        let routes: Vec<_> = routes
            .filter(|part| !part.contains("__private__"))
            .collect();
        assert!(routes.contains(&"/settings/password"), "{printed}");
        for route in routes {
            assert!(of(route).is_some(), "{route} has no rule");
        }
    }
}
