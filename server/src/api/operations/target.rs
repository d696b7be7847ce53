//! Whom an operator's request concerns: read from its path and its body, and allowed.

use axum::{
    Extension,
    extract::{FromRequest, FromRequestParts, Path, Request},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::{Deserialize, de::DeserializeOwned};
use spillway::{Key, Whose};
use utoipa::IntoParams;

use super::super::{Api, json::Body, named};
use super::asked::Wish;
use crate::{access::Caller, http::Problem, limiter::Limiter};

/// An operator's request: who wishes what, of what the path names.
pub(super) struct Asked<P> {
    pub(super) api: Api,
    caller: Caller,
    path: P,
    pub(super) wish: Wish,
}

/// The path of what concerns an upstream.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct OfUpstream {
    /// A name in the configuration
    #[param(example = "graph")]
    upstream: String,
}

/// The path of what concerns a workload.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct OfWorkload {
    /// A name in the configuration
    #[param(example = "graph")]
    upstream: String,
    /// One of its workloads; `_global`: what limits all calls of an app together
    #[param(example = "onenote")]
    workload: String,
}

impl<P: DeserializeOwned + Send> FromRequest<Api> for Asked<P> {
    type Rejection = Response;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let path = Path::from_request_parts(&mut parts, api).await;
        let Path(path) = path.map_err(|_| Problem::not_found().into_response())?;
        let caller = Extension::from_request_parts(&mut parts, api).await;
        let Extension(caller) = caller.map_err(IntoResponse::into_response)?;
        let Body(wish) = Body::from_request(Request::from_parts(parts, body), api).await?;
        Ok(Self {
            api: api.clone(),
            caller,
            path,
            wish,
        })
    }
}

impl Asked<OfUpstream> {
    /// Whose background calls are meant, and who limits them.
    ///
    /// # Errors
    /// There is nothing of that name, or it is not the caller's to steer.
    pub(super) fn lane(&self) -> Result<(&Limiter, Whose), Problem> {
        let limiter = self.limiter(&self.path.upstream)?;
        let whose = self.wish.whose(limiter)?;
        self.caller.may_steer(whose.app())?;
        Ok((limiter, whose))
    }
}

impl Asked<OfWorkload> {
    /// The budget whose breaker is meant, and who limits by it.
    ///
    /// # Errors
    /// There is nothing of that name, or it is not the caller's to steer.
    pub(super) fn budget(&self) -> Result<(&Limiter, Key), Problem> {
        let limiter = self.limiter(&self.path.upstream)?;
        let names: Vec<_> = limiter.limited().collect();
        let index = names.iter().position(|name| *name == self.path.workload);
        let index = index.ok_or_else(|| {
            Problem::new(
                StatusCode::NOT_FOUND,
                "unknown_workload",
                "There is no workload of this name",
            )
            .detail(format!("the workloads are: {}", names.join(", ")))
        })?;
        let key = self.wish.budget(limiter, index)?;
        self.caller.may_steer(Some(&key.app))?;
        Ok((limiter, key))
    }
}

impl<P> Asked<P> {
    fn limiter(&self, upstream: &str) -> Result<&Limiter, Problem> {
        self.caller.may_use(upstream)?;
        named::upstream(self.api.limiters.all(), upstream)
    }
}
