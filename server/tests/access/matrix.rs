//! Who may what: every route of the API's document, as it is made of the router, and every page,
//! by everybody that there is. A route that is not in the table here fails the test.

use std::fmt;

use http::{Method, Request, StatusCode, header, request::Builder};
use serde_json::Value;
use spillway_server::{
    access::{Role, Scope},
    api,
    audit::By,
    store::AccountChange,
};

use crate::support::people::PASSWORD;
use crate::support::{NOBODY, Reply, TestApp, people::cookie, rights, send};

/// What a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    AnybodyKnown,
    Scope(Scope),
    Change(Role),
    Page(Role),
}

const TABLE: &[(&str, &str, Takes)] = &[
    ("GET", "/healthz", Takes::Nothing),
    ("GET", "/readyz", Takes::Nothing),
    ("GET", "/api/openapi.json", Takes::Nothing),
    ("GET", "/metrics", Takes::Scope(Scope::Metrics)),
    ("GET", "/api/v1/session", Takes::AnybodyKnown),
    ("GET", "/api/v1/state", Takes::Scope(Scope::Read)),
    ("GET", "/api/v1/live", Takes::Scope(Scope::Read)),
    (
        "GET",
        "/api/v1/users/{upstream}/{workload}",
        Takes::Scope(Scope::Read),
    ),
    ("GET", "/api/v1/tokens", Takes::Scope(Scope::Read)),
    ("POST", "/api/v1/tokens", Takes::Change(Role::Admin)),
    ("DELETE", "/api/v1/tokens/{id}", Takes::Change(Role::Admin)),
    ("GET", "/api/v1/accounts", Takes::Scope(Scope::Read)),
    ("POST", "/api/v1/accounts", Takes::Change(Role::Admin)),
    ("PUT", "/api/v1/accounts/{id}", Takes::Change(Role::Admin)),
    (
        "DELETE",
        "/api/v1/accounts/{id}",
        Takes::Change(Role::Admin),
    ),
    (
        "POST",
        "/api/v1/accounts/{id}/link",
        Takes::Change(Role::Admin),
    ),
    (
        "DELETE",
        "/api/v1/accounts/{id}/sessions",
        Takes::Change(Role::Admin),
    ),
    ("GET", "/api/v1/audit", Takes::Scope(Scope::Read)),
    ("GET", "/api/v1/history", Takes::Scope(Scope::Read)),
    ("POST", "/api/v1/events", Takes::Scope(Scope::Events)),
    (
        "GET",
        "/api/v1/flood-policies/{component}",
        Takes::Scope(Scope::Read),
    ),
    (
        "PUT",
        "/api/v1/flood-policies/{component}",
        Takes::Change(Role::Admin),
    ),
    (
        "GET",
        "/api/v1/flood-policies/{component}/versions",
        Takes::Scope(Scope::Read),
    ),
    (
        "POST",
        "/api/v1/flood-policies/{component}/rollback",
        Takes::Change(Role::Admin),
    ),
    (
        "POST",
        "/api/v1/flood-policies/{component}/preview",
        Takes::Change(Role::Admin),
    ),
    ("GET", "/api/v1/sites/{site}", Takes::Scope(Scope::Read)),
    ("PUT", "/api/v1/sites/{site}", Takes::Change(Role::Operator)),
    (
        "POST",
        "/api/v1/sites/{site}/pause",
        Takes::Change(Role::Operator),
    ),
    (
        "POST",
        "/api/v1/sites/{site}/resume",
        Takes::Change(Role::Operator),
    ),
    (
        "GET",
        "/api/v1/sites/{site}/lists",
        Takes::Scope(Scope::Read),
    ),
    (
        "GET",
        "/api/v1/sites/{site}/lists/{list}",
        Takes::Scope(Scope::Read),
    ),
    (
        "GET",
        "/api/v1/sites/{site}/lists/{list}/minutes",
        Takes::Scope(Scope::Read),
    ),
    (
        "POST",
        "/api/v1/sites/{site}/lists/{list}/enable",
        Takes::Change(Role::Operator),
    ),
    (
        "POST",
        "/api/v1/sites/{site}/lists/{list}/pause",
        Takes::Change(Role::Operator),
    ),
    (
        "POST",
        "/api/v1/sites/{site}/lists/{list}/resume",
        Takes::Change(Role::Operator),
    ),
    ("POST", "/api/v1/permits", Takes::Scope(Scope::Permits)),
    (
        "DELETE",
        "/api/v1/permits/{id}",
        Takes::Scope(Scope::Permits),
    ),
    (
        "POST",
        "/api/v1/permits/{id}/complete",
        Takes::Scope(Scope::Permits),
    ),
    (
        "POST",
        "/api/v1/permits/{id}/renew",
        Takes::Scope(Scope::Permits),
    ),
    (
        "POST",
        "/api/v1/breakers/{upstream}/{workload}/open",
        Takes::Change(Role::Operator),
    ),
    (
        "POST",
        "/api/v1/breakers/{upstream}/{workload}/close",
        Takes::Change(Role::Operator),
    ),
    (
        "POST",
        "/api/v1/breakers/{upstream}/{workload}/reset",
        Takes::Change(Role::Operator),
    ),
    (
        "POST",
        "/api/v1/lanes/{upstream}/background/pause",
        Takes::Change(Role::Operator),
    ),
    (
        "POST",
        "/api/v1/lanes/{upstream}/background/resume",
        Takes::Change(Role::Operator),
    ),
    (
        "GET",
        "/api/v1/policies/{upstream}/{workload}",
        Takes::Scope(Scope::Read),
    ),
    (
        "PUT",
        "/api/v1/policies/{upstream}/{workload}",
        Takes::Change(Role::Admin),
    ),
    (
        "GET",
        "/api/v1/policies/{upstream}/{workload}/versions",
        Takes::Scope(Scope::Read),
    ),
    (
        "POST",
        "/api/v1/policies/{upstream}/{workload}/rollback",
        Takes::Change(Role::Admin),
    ),
    (
        "POST",
        "/api/v1/policies/{upstream}/{workload}/preview",
        Takes::Change(Role::Admin),
    ),
];

/// Pages are for people; that each has a rule at all is tested beside the rules.
const PAGES: &[(&str, &str, Takes)] = &[
    ("GET", "/", Takes::Page(Role::Viewer)),
    (
        "GET",
        "/users/{upstream}/{workload}",
        Takes::Page(Role::Viewer),
    ),
    ("GET", "/limits", Takes::Page(Role::Viewer)),
    (
        "GET",
        "/limits/{upstream}/{workload}",
        Takes::Page(Role::Viewer),
    ),
    (
        "GET",
        "/limits/{upstream}/{workload}/edit",
        Takes::Page(Role::Admin),
    ),
    (
        "POST",
        "/limits/{upstream}/{workload}/edit",
        Takes::Page(Role::Admin),
    ),
    (
        "POST",
        "/limits/{upstream}/{workload}/rollback",
        Takes::Page(Role::Admin),
    ),
    (
        "GET",
        "/workloads/{upstream}/{workload}",
        Takes::Page(Role::Viewer),
    ),
    ("GET", "/floods", Takes::Page(Role::Viewer)),
    ("GET", "/floods/list", Takes::Page(Role::Viewer)),
    ("GET", "/floods/disabled", Takes::Page(Role::Viewer)),
    ("POST", "/floods/enable", Takes::Page(Role::Operator)),
    ("GET", "/floods/pause", Takes::Page(Role::Viewer)),
    ("POST", "/floods/begin-pause", Takes::Page(Role::Operator)),
    ("POST", "/floods/resume", Takes::Page(Role::Operator)),
    ("GET", "/floods/{site}/{list}", Takes::Page(Role::Viewer)),
    ("GET", "/flood-policies", Takes::Page(Role::Viewer)),
    (
        "GET",
        "/flood-policies/{component}",
        Takes::Page(Role::Viewer),
    ),
    (
        "GET",
        "/flood-policies/{component}/edit",
        Takes::Page(Role::Admin),
    ),
    (
        "POST",
        "/flood-policies/{component}/edit",
        Takes::Page(Role::Admin),
    ),
    (
        "POST",
        "/flood-policies/{component}/rollback",
        Takes::Page(Role::Admin),
    ),
    ("GET", "/audit", Takes::Page(Role::Viewer)),
    ("GET", "/audit.csv", Takes::Page(Role::Viewer)),
    ("POST", "/audit/verify", Takes::Page(Role::Viewer)),
    ("GET", "/operate", Takes::Page(Role::Viewer)),
    ("GET", "/operate/background", Takes::Page(Role::Viewer)),
    (
        "POST",
        "/operate/background/pause",
        Takes::Page(Role::Operator),
    ),
    (
        "POST",
        "/operate/background/resume",
        Takes::Page(Role::Operator),
    ),
    ("GET", "/operate/breaker", Takes::Page(Role::Viewer)),
    ("POST", "/operate/breaker/open", Takes::Page(Role::Operator)),
    (
        "POST",
        "/operate/breaker/close",
        Takes::Page(Role::Operator),
    ),
    (
        "POST",
        "/operate/breaker/reset",
        Takes::Page(Role::Operator),
    ),
    ("GET", "/accounts", Takes::Page(Role::Viewer)),
    ("GET", "/accounts/new", Takes::Page(Role::Admin)),
    ("POST", "/accounts/new", Takes::Page(Role::Admin)),
    ("GET", "/accounts/{id}", Takes::Page(Role::Viewer)),
    ("POST", "/accounts/{id}/role", Takes::Page(Role::Admin)),
    ("POST", "/accounts/{id}/invite", Takes::Page(Role::Admin)),
    ("POST", "/accounts/{id}/disable", Takes::Page(Role::Admin)),
    ("POST", "/accounts/{id}/enable", Takes::Page(Role::Admin)),
    ("POST", "/accounts/{id}/remove", Takes::Page(Role::Admin)),
    (
        "POST",
        "/accounts/{id}/sessions/end",
        Takes::Page(Role::Admin),
    ),
    ("GET", "/tokens", Takes::Page(Role::Viewer)),
    ("GET", "/tokens/new", Takes::Page(Role::Admin)),
    ("POST", "/tokens/new", Takes::Page(Role::Admin)),
    ("POST", "/tokens/revoke", Takes::Page(Role::Admin)),
    ("GET", "/alerts", Takes::Page(Role::Viewer)),
    ("GET", "/settings", Takes::Page(Role::Member)),
    ("POST", "/settings/password", Takes::Page(Role::Member)),
    ("POST", "/settings/sessions/end", Takes::Page(Role::Member)),
    ("GET", "/sign-in", Takes::Nothing),
    ("GET", "/sign-in/provider", Takes::Nothing),
    ("GET", "/sign-in/callback", Takes::Nothing),
    ("GET", "/set-up", Takes::Nothing),
    ("GET", "/welcome", Takes::Nothing),
    ("POST", "/welcome", Takes::Nothing),
    // What is in the key of a link is looked at by the page: `site.rs`.
    ("GET", "/site", Takes::Nothing),
    ("POST", "/site/enable", Takes::Nothing),
    ("POST", "/site/pause", Takes::Nothing),
    ("POST", "/site/resume", Takes::Nothing),
];

const SCOPES: [Scope; 7] = [
    Scope::Gateway,
    Scope::Permits,
    Scope::Events,
    Scope::Metrics,
    Scope::Jobs,
    Scope::Read,
    Scope::Write,
];

/// A server with an identity provider, so that its routes are there; it does not answer.
async fn app() -> TestApp {
    let oidc = "[oidc]\nissuer = 'http://127.0.0.1:9'\nclient_id = 'a'\nroles = { a = 'admin' }\n";
    TestApp::closed(&format!("{NOBODY}{oidc}")).await
}

/// Somebody who asks.
enum Who {
    Anonymous,
    Person(Role, String),
    /// An admin's, for one kind of request.
    Token(Scope, String),
    RevokedSession(String),
    ExpiredToken(String),
}

/// What becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Their request is looked at, whatever it is answered then.
    LetIn,
    /// Nobody knows them: 401, or the way to the sign-in.
    Stranger,
    /// They may not.
    Refused,
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::Person(role, _) => write!(f, "{role}"),
            Self::Token(scope, _) => write!(f, "a token for {scope}"),
            Self::RevokedSession(_) => f.write_str("a revoked session"),
            Self::ExpiredToken(_) => f.write_str("an expired token"),
        }
    }
}

impl Who {
    fn ask(&self, request: Builder) -> Builder {
        match self {
            Self::Anonymous => request,
            Self::Person(_, cookie) | Self::RevokedSession(cookie) => {
                request.header(header::COOKIE, cookie)
            }
            Self::Token(_, token) | Self::ExpiredToken(token) => {
                request.header(header::AUTHORIZATION, format!("Bearer {token}"))
            }
        }
    }

    fn fate(&self, takes: Takes) -> Fate {
        let allowed = |is: bool| if is { Fate::LetIn } else { Fate::Refused };
        match (self, takes) {
            (_, Takes::Nothing) => Fate::LetIn,
            (Self::Anonymous | Self::RevokedSession(_) | Self::ExpiredToken(_), _) => {
                Fate::Stranger
            }
            (Self::Person(..) | Self::Token(..), Takes::AnybodyKnown) => Fate::LetIn,
            (Self::Person(role, _), Takes::Page(needed)) => allowed(*role >= needed),
            (Self::Token(..), Takes::Page(_)) => Fate::Stranger,
            (Self::Person(role, _), Takes::Scope(Scope::Read)) => allowed(*role >= Role::Viewer),
            // What programs ask often is answered without looking for a cookie.
            (Self::Person(..), Takes::Scope(Scope::Permits | Scope::Events)) => Fate::Stranger,
            (Self::Person(..), Takes::Scope(_)) => Fate::Refused,
            (Self::Person(role, _), Takes::Change(needed)) => allowed(*role >= needed),
            (Self::Token(scope, _), Takes::Scope(needed)) => allowed(*scope == needed),
            (Self::Token(scope, _), Takes::Change(_)) => allowed(*scope == Scope::Write),
        }
    }
}

fn fate(reply: &Reply) -> Fate {
    let to_sign_in = reply.header("location").starts_with("/sign-in");
    match reply.status {
        StatusCode::UNAUTHORIZED => Fate::Stranger,
        StatusCode::SEE_OTHER if to_sign_in => Fate::Stranger,
        StatusCode::FORBIDDEN => Fate::Refused,
        _ => Fate::LetIn,
    }
}

/// A request for the route; a stream is asked for its head alone.
fn request(method: &str, route: &str) -> Builder {
    let path = route
        .replace("{upstream}", "graph")
        .replace("{workload}", "onenote")
        // Well-formed, so that programs' own way past the router is taken.
        .replace("{id}", &"A".repeat(22));
    let path = if route.contains("users") {
        path + "?user=ann"
    } else {
        path
    };
    let method = if route == "/api/v1/live" {
        "HEAD"
    } else {
        method
    };
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
}

async fn sent(app: &TestApp, request: Builder) -> Reply {
    send(app.dashboard, request.body("{}".into()).unwrap()).await
}

async fn everybody(app: &TestApp) -> Vec<Who> {
    let mut all = vec![Who::Anonymous];
    for role in Role::ALL {
        all.push(Who::Person(
            role,
            app.signed_in(&role.to_string(), role).await,
        ));
    }
    for scope in SCOPES {
        all.push(Who::Token(
            scope,
            app.token(rights(Role::Admin, &[scope])).await,
        ));
    }
    let revoked = app.signed_in("gone", Role::Admin).await;
    let store = app.store().await;
    let by = By::system("a test");
    let removed = store
        .change_account("gone", AccountChange::Remove, 1, &by)
        .await;
    assert!(removed.unwrap().is_some());
    store.close().await;
    let expired = rights(Role::Admin, &SCOPES);
    let expired = app
        .token_until(expired, Some(jiff::Timestamp::UNIX_EPOCH))
        .await;
    all.push(Who::RevokedSession(revoked));
    all.push(Who::ExpiredToken(expired));
    // Removed beside the server: that is known within a second, by whoever comes next.
    cookie(&app.sign_in("admin", PASSWORD).await);
    all
}

#[tokio::test]
async fn everybody_at_every_route_gets_what_the_table_says() {
    let app = app().await;
    let all = everybody(&app).await;
    for (method, route, takes) in TABLE.iter().chain(PAGES) {
        for who in &all {
            let reply = sent(&app, who.ask(request(method, route))).await;
            let expected = who.fate(*takes);
            let text = reply.text();
            assert_eq!(
                fate(&reply),
                expected,
                "{method} {route} {who:?}: {} {text}",
                reply.status
            );
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn no_route_answers_under_another_host_or_changes_anything_for_another_site() {
    let app = app().await;
    let admin = Who::Person(Role::Admin, app.signed_in("ada", Role::Admin).await);
    for (method, route, _) in TABLE.iter().chain(PAGES) {
        let asked = || admin.ask(request(method, route));
        let elsewhere = sent(&app, asked().header(header::HOST, "evil.example")).await;
        assert_eq!(
            elsewhere.status,
            StatusCode::MISDIRECTED_REQUEST,
            "{method} {route}"
        );
        if *method != Method::GET {
            let by_another = asked().header("sec-fetch-site", "cross-site");
            let reply = sent(&app, by_another).await;
            assert_eq!(reply.status, StatusCode::FORBIDDEN, "{method} {route}");
            assert_eq!(
                reply.json()["code"],
                "origin_not_allowed",
                "{method} {route}"
            );
        }
    }
    app.stop().await;
}

#[test]
fn every_route_that_the_router_has_is_in_the_table() {
    let document: Value = serde_json::from_slice(&api::document_text()).unwrap();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = ["get", "put", "post", "delete"].into_iter();
        let methods = methods.filter(|method| item.get(method).is_some());
        routes.extend(methods.map(|method| (method.to_uppercase(), path.clone())));
    }
    let known =
        |(method, path): &(String, String)| TABLE.iter().any(|(m, p, _)| m == method && p == path);
    let unknown: Vec<_> = routes.iter().filter(|route| !known(route)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert_eq!(routes.len(), TABLE.len(), "the table has what there is not");
}
