//! The dashboard's routes: pages rendered here with real values, the static files that bring
//! them to life in the browser, and the [`door`] in front of them.

mod accounts;
mod alerts;
mod audit;
mod csv;
mod door;
mod flood_policies;
mod floods;
mod limits;
mod operate;
mod settings;
mod site;
mod tokens;
mod told;
mod workload;

use std::{path::Path, sync::Arc};

use any_spawner::Executor;
use axum::{
    Router,
    body::Body,
    extract::{Path as InPath, RawQuery, Request, State},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts,
};
use leptos::{
    config::LeptosOptions,
    context::{provide_context, use_context},
    nonce::use_nonce,
    prelude::IntoAny,
};
use leptos_axum::ResponseOptions;
use percent_encoding::percent_decode_str;
use spillway_app::{
    Asked, Backend, DOOR_POLICY, Door, PLAIN_POLICY, content_security_policy, shell,
};
use tower::ServiceExt;
use tower_http::services::ServeDir;

use crate::{
    access::{Access, Network, Provider, Role},
    alerts::Recipient,
    api::Api,
    audit::Trail,
    http::{Problem, Visitor, sign_in_first},
    policy::Policies,
};

pub use site::Sites;
pub use workload::Workloads;

/// The names under which `make site` puts the scripts.
const OUTPUT_NAME: &str = "spillway";
const PKG_DIR: &str = "pkg";

/// For answers that bring no policy of their own: they are no pages.
const NO_PAGE: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// What every answer says.
const SECURING: [(HeaderName, HeaderValue); 5] = [
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// The pages, the files of `site_dir`, and problems for whatever else is under `/api`.
///
/// Without a built site the pages still show their values; they just do not move.
pub fn routes(
    backend: Arc<dyn Backend>,
    entrance: Entrance,
    workloads: Workloads,
    site_dir: &Path,
) -> Router {
    if !site_dir.join(PKG_DIR).is_dir() {
        tracing::warn!(
            site_dir = %site_dir.display(),
            "the site is not built, so pages will not update by themselves: run `make site`"
        );
    }
    let options = LeptosOptions::builder()
        .output_name(OUTPUT_NAME)
        .site_root(site_dir.to_string_lossy())
        .site_pkg_dir(PKG_DIR)
        .build();
    // Only the first call sets it; later ones find it set.
    let _ = Executor::init_tokio();
    described().with_state(Pages {
        options,
        backend,
        entrance,
        workloads,
        desk: Arc::default(),
    })
}

/// The routes. Each needs a line in the table of `http::rules`, too.
pub(crate) fn described() -> Router<Pages> {
    Router::new()
        .route("/", get(overview))
        .route("/users/{upstream}/{workload}", get(user))
        .route("/workloads/{upstream}/{workload}", get(workload::show))
        .route("/api", any(|| async { Problem::not_found() }))
        .merge(accounts::routes())
        .merge(audit::routes())
        .merge(alerts::routes())
        .merge(door::routes())
        .merge(flood_policies::routes())
        .merge(floods::routes())
        .merge(operate::routes())
        .merge(settings::routes())
        .merge(site::routes())
        .merge(limits::routes())
        .merge(tokens::routes())
        .fallback(file_or_no_page)
}

/// Who may come in, and how it is known where from.
#[derive(Clone, Debug)]
pub struct Entrance {
    /// Whom the server lets in.
    pub access: Access,
    /// Where it is written down who came in, and who did not.
    pub trail: Trail,
    /// The limits that can be looked at and changed.
    pub policies: Policies,
    /// What steers, and is shown as it is steered.
    pub api: Api,
    /// The lists that sites' admins see to.
    pub sites: Sites,
    /// Who vouches for people, beside passwords.
    pub provider: Option<Provider>,
    /// How browsers reach the dashboard.
    pub public_url: String,
    /// The networks that the gateway lets in without a token, each with its upstream's name.
    pub networks: Vec<(String, Arc<Network>)>,
    /// The names of the upstreams there are.
    pub upstreams: Vec<String>,
    /// Who is told that something is wrong.
    pub told: Vec<Recipient>,
}

/// What pages are rendered with.
#[derive(Clone)]
pub(crate) struct Pages {
    options: LeptosOptions,
    backend: Arc<dyn Backend>,
    entrance: Entrance,
    workloads: Workloads,
    desk: Arc<Desk>,
}

/// What pages remember between requests.
#[derive(Debug, Default)]
struct Desk {
    outbox: told::Outbox,
    verifier: audit::Verifier,
    looks: floods::Looks,
}

impl Pages {
    /// Renders a page. Which one is decided by the routes alone: the request's own address
    /// is not looked at again, so that nothing can read it in another way.
    async fn render(&self, asked: Option<Asked>, request: Request) -> Response {
        let (backend, options) = (Arc::clone(&self.backend), self.options.clone());
        let visitor = self.visitor(&request);
        let context = move || {
            provide_context(Arc::clone(&backend));
            provide_context(visitor.clone());
            if let Some(asked) = asked.clone() {
                provide_context(asked);
            }
            insert_page_headers();
        };
        let shell = move || shell(options.clone()).into_any();
        leptos_axum::render_app_to_stream_with_context(context, shell)(request).await
    }

    /// Who looks, as the page shows it.
    fn visitor(&self, request: &Request) -> spillway_app::Visitor {
        self.visitor_in(request.extensions())
    }

    /// The same by the head of a request.
    fn visitor_of(&self, parts: &Parts) -> spillway_app::Visitor {
        self.visitor_in(&parts.extensions)
    }

    fn visitor_in(&self, extensions: &Extensions) -> spillway_app::Visitor {
        let session = extensions.get::<Visitor>();
        let session = session.and_then(|visitor| visitor.0.as_ref());
        match session {
            Some(session) => spillway_app::Visitor {
                name: session.person.name.clone(),
                role: session.person.role.to_string(),
                may_operate: session.person.role >= Role::Operator,
            },
            None if self.entrance.access.people().is_none() => spillway_app::Visitor::default(),
            None => spillway_app::Visitor {
                name: String::new(),
                role: Role::Viewer.to_string(),
                may_operate: false,
            },
        }
    }

    /// A page in front of the dashboard, which knows nothing of what is behind.
    fn door(&self, status: StatusCode, door: Door) -> Response {
        document(status, DOOR_POLICY, spillway_app::door(&self.options, door))
    }

    /// The page that says that there is no such page, to those who may know.
    async fn nowhere(&self, request: Request) -> Response {
        let visitor = request.extensions().get::<Visitor>();
        let is_known = visitor.is_some_and(|visitor| visitor.0.is_some());
        if !is_known && !self.entrance.access.is_open() {
            return sign_in_first(request.method(), request.uri());
        }
        let mut page = self.render(None, request).await;
        *page.status_mut() = StatusCode::NOT_FOUND;
        page
    }
}

/// A page that the server alone renders, for who has come in.
fn plain(status: StatusCode, page: String) -> Response {
    document(status, PLAIN_POLICY, page)
}

fn document(status: StatusCode, policy: &'static str, page: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (status, headers, page).into_response()
}

async fn overview(State(pages): State<Pages>, request: Request) -> Response {
    pages.render(Some(Asked::Overview), request).await
}

/// The page of one user; of limits that there are, and of anybody.
async fn user(
    State(pages): State<Pages>,
    InPath((upstream, workload)): InPath<(String, String)>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let query = query.unwrap_or_default();
    match pages.backend.user(&upstream, &workload, &query) {
        Some(user) => {
            pages
                .render(Some(Asked::User(Box::new(user))), request)
                .await
        }
        None => pages.nowhere(request).await,
    }
}

fn insert_page_headers() {
    let (Some(response), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) else {
        return;
    };
    if let Ok(policy) = HeaderValue::from_str(&content_security_policy(&nonce)) {
        response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
    response.insert_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// A file of the site, or the page that says that there is no such page.
async fn file_or_no_page(State(pages): State<Pages>, request: Request) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let allowed = [(header::ALLOW, "GET, HEAD")];
        return (allowed, Problem::method_not_allowed()).into_response();
    }
    let (parts, _) = request.into_parts();
    if is_compressed(parts.uri.path()) {
        return pages
            .nowhere(Request::from_parts(parts, Body::empty()))
            .await;
    }
    let for_file = Request::from_parts(parts.clone(), Body::empty());
    let files = ServeDir::new(pages.options.site_root.as_ref())
        .append_index_html_on_directories(false)
        .precompressed_br()
        .precompressed_gzip();
    match files.oneshot(for_file).await {
        Ok(file) if file.status() != StatusCode::NOT_FOUND => {
            let mut file = file.map(Body::new);
            let headers = file.headers_mut();
            // The names are not hashed: a browser must ask whether its copy is still the newest.
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            headers.append(
                header::VARY,
                HeaderValue::from_static(header::ACCEPT_ENCODING.as_str()),
            );
            file
        }
        _ => {
            pages
                .nowhere(Request::from_parts(parts, Body::empty()))
                .await
        }
    }
}

/// Compressed copies are given under the name of their file alone: under their own they
/// would come as something else than what they are.
fn is_compressed(path: &str) -> bool {
    let path = percent_decode_str(path).collect::<Vec<_>>();
    path.ends_with(b".br") || path.ends_with(b".gz")
}

/// Says to browsers what an answer of the dashboard's may never be used for.
pub fn secure(headers: &mut HeaderMap) {
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(NO_PAGE);
    // A page may keep its address to itself altogether.
    let referrer = headers.remove(header::REFERRER_POLICY);
    for (name, value) in SECURING {
        headers.insert(name, value);
    }
    if let Some(referrer) = referrer {
        headers.insert(header::REFERRER_POLICY, referrer);
    }
}
