//! What a path names, and who asks.

use axum::{
    Extension,
    extract::{FromRequestParts, Path},
    response::{IntoResponse, Response},
};
use http::{StatusCode, request::Parts};
use serde::Deserialize;
use spillway::flood::{Component, ListKey};
use utoipa::IntoParams;

use super::super::Api;
use crate::{access::Caller, api::named::key, audit::By, http::Problem, store};

/// The path of what concerns a site.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct OfSite {
    /// The site's key
    #[param(example = "s1", min_length = 1, max_length = 256)]
    site: String,
}

/// The path of what concerns a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct OfList {
    /// The site's key
    #[param(example = "s1", min_length = 1, max_length = 256)]
    site: String,
    /// The list's key within the site
    #[param(example = "l1", min_length = 1, max_length = 256)]
    list: String,
}

/// The path of what concerns a component's policy.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct OfComponent {
    /// Whose policy
    #[param(example = "action", pattern = "^(action|alert|item_id|summary)$")]
    component: String,
}

/// A request about what a path names.
pub(super) struct Asked<P> {
    pub(super) api: Api,
    pub(super) by: By,
    caller: Caller,
    path: P,
}

impl<P: serde::de::DeserializeOwned + Send> FromRequestParts<Api> for Asked<P> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Response> {
        let path = Path::from_request_parts(parts, api).await;
        let Path(path) = path.map_err(|_| Problem::not_found().into_response())?;
        let caller = Extension::from_request_parts(parts, api).await;
        let Extension(caller) = caller.map_err(IntoResponse::into_response)?;
        Ok(Self {
            by: api.trail.by(parts),
            caller,
            api: api.clone(),
            path,
        })
    }
}

impl Asked<OfSite> {
    /// Which site, if it is the caller's.
    pub(super) fn site(&self) -> Result<String, Problem> {
        let site = key("site", self.path.site.clone())?;
        self.caller.may_steer_site(&site)?;
        Ok(site)
    }
}

impl Asked<OfList> {
    /// Which list, if its site is the caller's.
    pub(super) fn list(&self) -> Result<ListKey, Problem> {
        let key = ListKey {
            site: key("site", self.path.site.clone())?,
            list: key("list", self.path.list.clone())?,
        };
        self.caller.may_steer_site(&key.site)?;
        Ok(key)
    }
}

impl Asked<OfComponent> {
    /// Which component, if all sites are the caller's: its policy holds for them all.
    pub(super) fn component(&self) -> Result<Component, Problem> {
        self.caller.may_steer_all_sites()?;
        let name = &self.path.component;
        let mut all = Component::ALL.into_iter();
        all.find(|component| component.name() == name)
            .ok_or_else(|| {
                let title = "There is no component of this name";
                Problem::new(StatusCode::NOT_FOUND, "unknown_component", title)
                    .detail("the components are: action, alert, item_id, summary")
            })
    }
}

/// The answer where the database does not.
pub(super) fn storage(error: store::Error) -> Problem {
    let title = "The database does not answer";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).detail(error.to_string())
}
