//! Names and keys in requests: whose budgets, and of which upstream.

use std::borrow::Cow;

use http::StatusCode;

use crate::{
    audit,
    http::Problem,
    limiter::{Limiter, WorkloadIndex},
};

/// The longest key of an app, a tenant or a user, in bytes, as in the gateway.
const KEY_BYTES_MAX: usize = 256;

/// The upstream of this name.
pub(super) fn upstream<'a>(limiters: &'a [Limiter], name: &str) -> Result<&'a Limiter, Problem> {
    let named = limiters.iter().find(|limiter| limiter.name() == name);
    named.ok_or_else(|| {
        let names: Vec<_> = limiters.iter().map(Limiter::name).collect();
        Problem::new(
            StatusCode::NOT_FOUND,
            "unknown_upstream",
            "There is no upstream of this name",
        )
        .detail(format!("the upstreams are: {}", names.join(", ")))
    })
}

/// The position of a workload with this name, or of what limits all calls of an app.
pub(super) fn workload(limiter: &Limiter, name: &str) -> Result<WorkloadIndex, Problem> {
    let index = limiter.limited().position(|workload| workload == name);
    index.ok_or_else(|| {
        let names: Vec<_> = limiter.limited().collect();
        let title = "There is no workload of this name";
        Problem::new(StatusCode::NOT_FOUND, "unknown_workload", title)
            .detail(format!("the workloads are: {}", names.join(", ")))
    })
}

/// Why something is done.
pub(super) fn reason(text: &str) -> Result<&str, Problem> {
    audit::reason(text).map_err(|no| bad_field(no.to_string()))
}

/// A key that must say something.
pub(super) fn key<T: AsRef<str>>(what: &'static str, key: T) -> Result<T, Problem> {
    if key.as_ref().is_empty() {
        return Err(bad_field(format!("{what} must not be empty")));
    }
    plain(what, key)
}

/// A key that may be empty.
pub(super) fn plain<T: AsRef<str>>(what: &'static str, key: T) -> Result<T, Problem> {
    let text = key.as_ref();
    if text.len() > KEY_BYTES_MAX || has_control(text) {
        return Err(bad_field(format!(
            "{what} must be at most {KEY_BYTES_MAX} bytes without control characters"
        )));
    }
    Ok(key)
}

fn has_control(text: &str) -> bool {
    // Most keys are, and bytes are sooner looked at.
    if text.is_ascii() {
        return text.bytes().any(|byte| byte.is_ascii_control());
    }
    text.chars().any(char::is_control)
}

/// The answer to a field that cannot be used.
pub(super) fn bad_field(detail: impl Into<Cow<'static, str>>) -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "bad_field",
        "A field is not as it should be",
    )
    .detail(detail)
}
