//! Whom an operator's request concerns: read from its path and its body, and allowed.

use axum::{
    Extension,
    extract::{FromRequest, FromRequestParts, Path, Request},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use spillway::{Key, Whose};
use utoipa::IntoParams;

use super::super::{Api, json::Body, named};
use super::asked::Wish;
use crate::{
    access::Caller,
    audit::{Act, By},
    http::Problem,
    limiter::{Limiter, Note},
    store::NotAudited,
};

/// An operator's request: who wishes what, of what the path names.
pub(super) struct Asked<P> {
    pub(super) api: Api,
    caller: Caller,
    by: By,
    path: P,
    pub(super) wish: Wish,
}

/// What is done, as the audit log calls it.
pub(super) struct Steering<'a> {
    pub(super) action: &'static str,
    pub(super) subject: String,
    pub(super) reason: &'a str,
}

/// What has been done.
pub(super) struct Steered<T> {
    pub(super) was: Option<Value>,
    pub(super) became: Option<Value>,
    pub(super) answer: T,
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
        let by = api.trail.by(&parts);
        let Body(wish) = Body::from_request(Request::from_parts(parts, body), api).await?;
        Ok(Self {
            api: api.clone(),
            caller,
            by,
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
        let index = named::workload(limiter, &self.path.workload)?;
        let key = self.wish.budget(limiter, index)?;
        self.caller.may_steer(Some(&key.app))?;
        Ok((limiter, key))
    }
}

impl<P> Asked<P> {
    /// Who asks, and why, as it is shown beside what is in force.
    ///
    /// # Errors
    /// No reason is given.
    pub(super) fn note(&self) -> Result<Note, Problem> {
        Ok(Note {
            who: self.by.actor.to_string(),
            reason: self.wish.reason()?.to_owned(),
            at_ms: self.now_ms(),
        })
    }

    fn now_ms(&self) -> i64 {
        self.api.limiters.clock().wall_now().as_millisecond()
    }

    /// Does what is asked, and audits it.
    ///
    /// # Errors
    /// It was not done, or it was and cannot be audited any more: the problem says which.
    pub(super) async fn steer<T>(
        &self,
        steering: Steering<'_>,
        act: impl FnOnce() -> Result<Steered<T>, Problem>,
    ) -> Result<T, Problem> {
        let Steering {
            action,
            subject,
            reason,
        } = steering;
        let at_ms = self.now_ms();
        let by = self.by.clone().because(reason);
        let done = self.api.trail.store.audited(|| {
            let steered = act()?;
            let audited = Act::new(at_ms, &by, action, subject);
            let audited = audited.was(steered.was).became(steered.became);
            Ok((steered.answer, audited))
        });
        done.await.map_err(not_audited)
    }

    fn limiter(&self, upstream: &str) -> Result<&Limiter, Problem> {
        self.caller.may_use(upstream)?;
        named::upstream(self.api.limiters.all(), upstream)
    }
}

/// The answer where the audit log could not be written.
fn not_audited(not: NotAudited<Problem>) -> Problem {
    let detail = not.to_string();
    let title = match not {
        NotAudited::NotDone(problem) => return problem,
        NotAudited::Unwritable(_) => "It was not done: it cannot be written down",
        NotAudited::Lost(_) => "It is in force, but not in the audit log",
    };
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).detail(detail)
}
