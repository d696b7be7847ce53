//! The pages there are, and their addresses.
//!
//! There is no router in the browser: links load the next page from the server, which
//! renders it with values that are new. That keeps the module at half its size, and
//! pages work alike with and without JavaScript. The server alone reads addresses; the
//! page that it served says which one it is.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::live::{BudgetKey, ForcedBreaker, Pause, UserState};

/// A page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Page {
    /// `/`
    Overview,
    /// `/users/{upstream}/{workload}?app=&tenant=&user=`
    User,
    /// `/limits` and what is below it: rendered by the server alone.
    Limits,
    /// `/workloads/{upstream}/{workload}`: rendered by the server alone.
    #[cfg_attr(
        not(feature = "ssr"),
        allow(dead_code, reason = "no browser makes one")
    )]
    Workload,
    /// `/settings`, and what belongs to it: rendered by the server alone.
    Settings,
    /// `/audit`
    Audit,
    /// `/accounts`, and each of them
    Accounts,
    /// `/tokens`
    Tokens,
    /// `/operate`, and what is below it
    Operate,
    /// `/alerts`, which the server alone renders.
    Alerts,
    /// `/floods`, and what is below it: rendered by the server alone.
    Floods,
    /// Anywhere else.
    #[default]
    Nowhere,
}

/// Where the overview is.
pub const OVERVIEW_PATH: &str = "/";

/// Where the limits of all workloads are.
pub const LIMITS_PATH: &str = "/limits";

/// Where lists are shown by trouble.
pub const FLOODS_PATH: &str = "/floods";

/// Where trouble is listed, and who was told of it.
pub const ALERTS_PATH: &str = "/alerts";

/// Where people change what is their own.
pub const SETTINGS_PATH: &str = "/settings";

/// Where the audit log is.
pub const AUDIT_PATH: &str = "/audit";

/// Where operators pause and force.
pub const OPERATE_PATH: &str = "/operate";

/// Where the accounts are.
pub const ACCOUNTS_PATH: &str = "/accounts";

/// Where the tokens are.
pub const TOKENS_PATH: &str = "/tokens";

/// What stays as it is in an address: RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Where the pages of a workload's users are.
#[must_use]
pub fn workload_path(upstream: &str, workload: &str) -> String {
    ["/users/", &escaped(upstream), "/", &escaped(workload)].concat()
}

/// Where a workload's limits are changed.
#[cfg(feature = "ssr")]
#[must_use]
pub fn limits_path(upstream: &str, workload: &str) -> String {
    [
        LIMITS_PATH,
        "/",
        &escaped(upstream),
        "/",
        &escaped(workload),
    ]
    .concat()
}

/// Where the page of a workload is, asked for so.
#[must_use]
pub fn workload_page_path<'a>(
    upstream: &str,
    workload: &str,
    asked: impl IntoIterator<Item = (&'a str, String)>,
) -> String {
    let mut path = ["/workloads/", &escaped(upstream), "/", &escaped(workload)].concat();
    for (name, value) in asked {
        path += if path.contains('?') { "&" } else { "?" };
        path += name;
        path += "=";
        path += &escaped(&value);
    }
    path
}

/// Which user it is, in the address of its page.
#[must_use]
pub fn user_query(user: &BudgetKey) -> String {
    let mut query = ["?user=", &escaped(&user.user), "&app=", &escaped(&user.app)].concat();
    if !user.tenant.is_empty() {
        query += "&tenant=";
        query += &escaped(&user.tenant);
    }
    query
}

/// Where the API ends pauses of an upstream's background calls.
#[cfg_attr(
    not(feature = "hydrate"),
    allow(dead_code, reason = "only a browser asks for it")
)]
#[must_use]
pub fn resume_path(upstream: &str) -> String {
    ["/api/v1/lanes/", &escaped(upstream), "/background/resume"].concat()
}

/// Where background calls of these are paused and resumed.
#[must_use]
pub fn background_path(upstream: &str, whose: &Pause) -> String {
    let keys = [
        ("upstream", upstream),
        ("scope", whose.scope.name()),
        ("app", &whose.app),
        ("tenant", &whose.tenant),
        ("user", &whose.user),
    ];
    [OPERATE_PATH, "/background", &query(&keys)].concat()
}

/// Where a user's breaker in a workload is forced and reset.
#[must_use]
pub fn breaker_path(user: &UserState) -> String {
    let keys = [user.app.as_str(), &user.tenant, &user.user];
    breaker_of(&user.upstream, &user.workload, "user", keys)
}

/// Where a breaker that is forced is let go.
#[must_use]
pub fn forced_path(upstream: &str, held: &ForcedBreaker) -> String {
    let keys = [held.app.as_str(), &held.tenant, &held.user];
    breaker_of(
        upstream,
        &held.workload,
        Pause::from(held).scope.name(),
        keys,
    )
}

fn breaker_of(upstream: &str, workload: &str, scope: &str, keys: [&str; 3]) -> String {
    let [app, tenant, user] = keys;
    let keys = [
        ("upstream", upstream),
        ("workload", workload),
        ("scope", scope),
        ("app", app),
        ("tenant", tenant),
        ("user", user),
    ];
    [OPERATE_PATH, "/breaker", &query(&keys)].concat()
}

/// A query of these names and values, without those that are empty.
#[must_use]
pub fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = String::new();
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        query += if query.is_empty() { "?" } else { "&" };
        query += &[name, "=", &escaped(value)].concat();
    }
    query
}

pub(crate) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(feature = "hydrate")]
impl crate::live::Read for Page {
    fn read(json: &impl crate::live::Json) -> Option<Self> {
        match json.text()?.as_str() {
            "overview" => Some(Self::Overview),
            "user" => Some(Self::User),
            _ => Some(Self::Nowhere),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Scope;

    #[test]
    fn any_key_fits_into_an_address() {
        let key = |tenant: &str, user: &str| BudgetKey {
            scope: Scope::User,
            app: "note-bridge".to_owned(),
            tenant: tenant.to_owned(),
            user: user.to_owned(),
        };
        assert_eq!(
            user_query(&key("contoso", "ana@contoso.example")),
            "?user=ana%40contoso.example&app=note-bridge&tenant=contoso"
        );
        assert_eq!(
            user_query(&key("", "a&b=%41 /?#+\u{674e}")),
            "?user=a%26b%3D%2541%20%2F%3F%23%2B%E6%9D%8E&app=note-bridge"
        );
        assert_eq!(
            workload_path("graph", "one/note"),
            "/users/graph/one%2Fnote"
        );
    }
}
