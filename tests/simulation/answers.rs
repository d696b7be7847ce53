//! The upstream's answers as bytes, in the forms that vendors send, read by the engine's reader.

use spillway::Signal;
use spillway::signal::{Answer, read};

/// Scopes as they were seen in answers; the last ones are nonsense on purpose.
const SCOPES: [&str; 11] = [
    "User",
    "Application",
    "User,Application",
    "Tenant_Application/Read/app0/tenant0",
    "Tenant_Application/ReadWrite/app1/tenant1",
    "Tenant_Application_All",
    "tenant/Read",
    "application; user",
    "USER/Write",
    "Galaxy",
    "/",
];

/// `Retry-After` values that name no wait.
const NO_WAITS: [&str; 4] = ["", "0", "-5", "soon"];

/// Header names are told in any case.
const SCOPE: [&str; 2] = ["x-ms-throttle-scope", "X-MS-Throttle-Scope"];

/// All is well.
pub fn passed(unix_ms: u64, permille: Option<u32>, form: Option<usize>) -> Signal {
    let percentage = permille.map(|permille| format!("{}.{:03}", permille / 1000, permille % 1000));
    let mut headers = Vec::new();
    if let Some(percentage) = &percentage {
        headers.push(("x-ms-throttle-limit-percentage", percentage.as_bytes()));
    }
    if let Some(form) = form {
        headers.push((SCOPE[0], SCOPES[form % SCOPES.len()].as_bytes()));
    }
    signal(200, &headers, b"", unix_ms)
}

/// Throttled: `form` picks the status, and whether and how a scope and a useless wait are told.
pub fn throttled(unix_ms: u64, retry_after: Option<u32>, form: usize) -> Signal {
    let seconds = retry_after.map(|seconds| seconds.to_string());
    let mut headers = Vec::new();
    match &seconds {
        Some(seconds) => headers.push(("Retry-After", seconds.as_bytes())),
        None if form.is_multiple_of(4) => headers.push((
            "retry-after",
            NO_WAITS[form / 4 % NO_WAITS.len()].as_bytes(),
        )),
        None => {}
    }
    // Two in five name nobody.
    if form % 5 > 1 {
        let scope = SCOPES[form % SCOPES.len()];
        headers.push((SCOPE[form % 2], scope.as_bytes()));
    }
    let (status, body): (u16, &[u8]) = match form % 7 {
        0 => (400, br#"{"error":{"code":"20166","message":"too many"}}"#),
        1 => (529, b""),
        2 if retry_after.is_some() => (503, b"busy"),
        _ => (429, b"{}"),
    };
    signal(status, &headers, body, unix_ms)
}

/// Nobody answers for the upstream.
pub fn outage(unix_ms: u64, status: u16) -> Signal {
    signal(status, &[], b"<html>Bad Gateway</html>", unix_ms)
}

fn signal(status: u16, headers: &[(&str, &[u8])], body: &[u8], unix_ms: u64) -> Signal {
    read(&Answer {
        status,
        headers,
        body,
        unix_ms,
    })
}
