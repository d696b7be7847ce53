//! Whose budgets `x-ms-throttle-scope` names.
//!
//! Microsoft Graph documents `<Scope>/<Limit>/<ApplicationId>/<TenantId|UserId|ResourceId>`
//! for identity and access, with scopes `Tenant_Application`, `Tenant` and `Application`
//! (throttling, "Response headers"). Seen besides: `User`, `Application` and both at once,
//! fewer parts, and `Tenant_Application_All` in a draft. Only the first part names a scope.

use super::{Answer, Named};

/// What an answer's scopes name together; none if it names nothing at all.
pub(super) fn named(answer: &Answer<'_>) -> Option<Named> {
    answer
        .values("x-ms-throttle-scope")
        .flat_map(|value| value.split(|byte| matches!(byte, b',' | b';')))
        .map(<[u8]>::trim_ascii)
        .filter(|item| !item.is_empty())
        .map(read)
        .reduce(union)
}

/// One item of the list. White space separates scopes as a comma does.
fn read(item: &[u8]) -> Named {
    let scope = item.split(|byte| *byte == b'/').next().unwrap_or_default();
    scope
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(read_scope)
        .reduce(union)
        .unwrap_or(APP)
}

const APP: Named = Named {
    user: false,
    tenant: false,
    app: true,
};

/// Joined by `_`, words narrow each other: `Tenant_Application` is one app within one
/// tenant, whose budget is the tenant's here. An unknown word could mean anything, so the
/// whole is taken for the widest, the app's.
fn read_scope(scope: &[u8]) -> Named {
    let words = || scope.split(|byte| *byte == b'_');
    let has = |known: &str| words().any(|word| word.eq_ignore_ascii_case(known.as_bytes()));
    if !words().all(is_known) {
        return APP;
    }
    let user = has("user");
    let tenant = !user && has("tenant");
    Named {
        user,
        tenant,
        app: !user && !tenant,
    }
}

fn is_known(word: &[u8]) -> bool {
    const SCOPES: [&str; 4] = ["user", "tenant", "application", "app"];
    const LIMITS: [&str; 4] = ["all", "read", "write", "readwrite"];
    SCOPES
        .iter()
        .chain(&LIMITS)
        .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

const fn union(one: Named, other: Named) -> Named {
    Named {
        user: one.user || other.user,
        tenant: one.tenant || other.tenant,
        app: one.app || other.app,
    }
}
