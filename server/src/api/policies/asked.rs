//! Whose limits a request is about, who asks, and what that lets them do.

use axum::{
    Extension,
    extract::{FromRequestParts, Path},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header, request::Parts};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::{Api, named};
use crate::{access::Caller, audit::By, http::Problem, policy::Place};

/// A request about a workload's limits.
pub(super) struct Asked {
    pub(super) api: Api,
    pub(super) by: By,
    caller: Caller,
    path: OfWorkload,
    headers: HeaderMap,
}

/// The path of what concerns a workload's limits.
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

impl FromRequestParts<Api> for Asked {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Response> {
        let path = Path::from_request_parts(parts, api).await;
        let Path(path) = path.map_err(|_| Problem::not_found().into_response())?;
        let caller = Extension::from_request_parts(parts, api).await;
        let Extension(caller) = caller.map_err(IntoResponse::into_response)?;
        Ok(Self {
            by: api.trail.by(parts),
            api: api.clone(),
            caller,
            path,
            headers: parts.headers.clone(),
        })
    }
}

impl Asked {
    /// Whose limits are meant.
    ///
    /// # Errors
    /// There is nothing of that name, or it is not the caller's to see.
    pub(super) fn place(&self) -> Result<Place<'_>, Problem> {
        let OfWorkload { upstream, workload } = &self.path;
        self.caller.may_use(upstream)?;
        let limiter = named::upstream(self.api.limiters.all(), upstream)?;
        let workload = named::workload(limiter, workload)?;
        let name = limiter.limited().nth(workload).unwrap_or_default();
        Ok(Place {
            limiter,
            workload,
            name,
        })
    }

    /// Whose limits are meant by who may change them: limits concern all apps, so that is nobody
    /// who is bound to some.
    ///
    /// # Errors
    /// As [`Asked::place`].
    pub(super) fn steerable(&self) -> Result<Place<'_>, Problem> {
        let place = self.place()?;
        self.caller.may_steer(None)?;
        Ok(place)
    }

    /// Whose limits are to be changed, and which version was looked at.
    ///
    /// # Errors
    /// As [`Asked::steerable`]; no version is named.
    pub(super) fn editable(&self) -> Result<(Place<'_>, i64), Problem> {
        Ok((self.steerable()?, base(&self.headers)?))
    }

    /// The wall clock's time, Unix milliseconds.
    pub(super) fn now_ms(&self) -> i64 {
        self.api.limiters.clock().wall_now().as_millisecond()
    }
}

/// The version that `If-Match` names.
pub(in crate::api) fn base(headers: &HeaderMap) -> Result<i64, Problem> {
    let mut values = headers.get_all(header::IF_MATCH).iter();
    let Some(value) = values.next() else {
        let title = "Say which version was looked at";
        let detail = "send the ETag of GET as If-Match, so that nobody's change is lost unseen";
        let status = StatusCode::PRECONDITION_REQUIRED;
        return Err(Problem::new(status, "precondition_required", title).detail(detail));
    };
    let number = value.to_str().ok().and_then(|value| {
        let tag = value.trim().strip_prefix('"')?.strip_suffix('"')?;
        let number: i64 = tag.parse().ok()?;
        (number > 0).then_some(number)
    });
    number.filter(|_| values.next().is_none()).ok_or_else(|| {
        let title = "If-Match does not name one version";
        Problem::new(StatusCode::BAD_REQUEST, "bad_header", title)
            .detail("If-Match must be the ETag of GET, like \"3\" with its quotes")
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(values: &[&'static str]) -> Result<i64, StatusCode> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::IF_MATCH, HeaderValue::from_static(value));
        }
        base(&headers).map_err(|problem| problem.status())
    }

    #[test]
    fn one_version_is_named_by_its_etag() {
        assert_eq!(read(&["\"3\""]), Ok(3));
        assert_eq!(read(&[]), Err(StatusCode::PRECONDITION_REQUIRED));
        for bad in [
            "3",
            "*",
            "W/\"3\"",
            "\"3\", \"4\"",
            "\"0\"",
            "\"-1\"",
            "\"\"",
            "\"x\"",
        ] {
            assert_eq!(read(&[bad]), Err(StatusCode::BAD_REQUEST), "{bad}");
        }
        assert_eq!(read(&["\"3\"", "\"3\""]), Err(StatusCode::BAD_REQUEST));
    }
}
