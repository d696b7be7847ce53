//! Whom an operator's request concerns: read from its path and its body.

use std::marker::PhantomData;

use axum::{
    Extension,
    extract::{FromRequest, FromRequestParts, Path, Request},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, de::DeserializeOwned};
use utoipa::IntoParams;

use super::super::{Api, json::Body};
use super::order::Order;
use crate::http::Problem;

/// An operator's request, of what the path names.
pub(super) struct Asked<P> {
    pub(super) order: Order,
    of: PhantomData<P>,
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

impl<P: DeserializeOwned + Into<Named> + Send> FromRequest<Api> for Asked<P> {
    type Rejection = Response;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let path: Result<Path<P>, _> = Path::from_request_parts(&mut parts, api).await;
        let Path(path) = path.map_err(|_| Problem::not_found().into_response())?;
        let caller = Extension::from_request_parts(&mut parts, api).await;
        let Extension(caller) = caller.map_err(IntoResponse::into_response)?;
        let by = api.trail.by(&parts);
        let Body(wish) = Body::from_request(Request::from_parts(parts, body), api).await?;
        let Named { upstream, workload } = path.into();
        let order = Order {
            api: api.clone(),
            caller,
            by,
            upstream,
            workload,
            wish,
        };
        let of = PhantomData;
        Ok(Self { order, of })
    }
}

/// What a path names.
pub(super) struct Named {
    upstream: String,
    /// Empty where background calls are meant.
    workload: String,
}

impl From<OfUpstream> for Named {
    fn from(of: OfUpstream) -> Self {
        Self {
            upstream: of.upstream,
            workload: String::new(),
        }
    }
}

impl From<OfWorkload> for Named {
    fn from(of: OfWorkload) -> Self {
        Self {
            upstream: of.upstream,
            workload: of.workload,
        }
    }
}
