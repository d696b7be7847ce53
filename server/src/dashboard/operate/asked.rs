//! Forms and addresses as the API's wishes.

use jiff::{SignedDuration, Timestamp};
use spillway_app::Target;

use crate::{
    api::operations::{SteeringScope, Wish},
    dashboard::door::Fields,
};

/// Whom it concerns. Where no scope is named, the narrowest that is filled in counts.
pub(super) fn target(fields: &Fields) -> Target {
    let text = |name: &str| fields.get(name).to_owned();
    let (app, tenant, user) = (text("app"), text("tenant"), text("user"));
    let workload = text("workload");
    let filled = match (app.as_str(), tenant.as_str(), user.as_str()) {
        (_, _, user) if !user.is_empty() => "user",
        (_, tenant, _) if !tenant.is_empty() => "tenant",
        (app, _, _) if !app.is_empty() => "app",
        // A breaker is somebody's.
        _ if !workload.is_empty() => "app",
        _ => "upstream",
    };
    let mut named = ["upstream", "app", "tenant", "user"].into_iter();
    let scope = named.find(|scope| *scope == fields.get("scope"));
    Target {
        upstream: text("upstream"),
        workload,
        scope: scope.unwrap_or(filled),
        app,
        tenant,
        user,
    }
}

/// What is wished for, of whom `target` names; lengths begin at `now`.
pub(super) fn wish(fields: &Fields, target: &Target, now: Timestamp) -> Wish {
    let key = |key: &str, always: bool| (always || !key.is_empty()).then(|| key.to_owned());
    let (scope, tenant, user) = match target.scope {
        "user" => (SteeringScope::User, true, true),
        "tenant" => (SteeringScope::Tenant, true, false),
        "app" => (SteeringScope::App, false, false),
        _ => (SteeringScope::Upstream, false, false),
    };
    let wide = matches!(scope, SteeringScope::Upstream);
    Wish {
        scope: Some(scope),
        app: key(&target.app, false).filter(|_| !wide),
        tenant: key(&target.tenant, true).filter(|_| tenant),
        user: key(&target.user, true).filter(|_| user),
        until: until(fields, now),
        reason: fields.get("reason").to_owned(),
    }
}

/// An instant, as browsers send it without its zone, goes before a length in minutes.
fn until(fields: &Fields, now: Timestamp) -> Option<String> {
    match fields.get("until") {
        "" => {
            let minutes = match fields.get("minutes") {
                "" => return None,
                minutes => minutes.parse::<i64>(),
            };
            // What is no length is no instant either, and is refused as that.
            let Ok(minutes) = minutes else {
                return Some(fields.get("minutes").to_owned());
            };
            let length = SignedDuration::from_mins(minutes.clamp(0, 1_000_000));
            now.checked_add(length).ok().map(|at| at.to_string())
        }
        at => {
            let utc = format!("{at}Z");
            let is_without = at.parse::<Timestamp>().is_err() && utc.parse::<Timestamp>().is_ok();
            Some(if is_without { utc } else { at.to_owned() })
        }
    }
}

/// A breaker's scope, as forms name it.
pub(super) const fn scope(scope: spillway::Scope) -> &'static str {
    match scope {
        spillway::Scope::App => "app",
        spillway::Scope::Tenant => "tenant",
        spillway::Scope::User => "user",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> (Target, Wish) {
        let fields = Fields::in_address(Some(query));
        let target = target(&fields);
        let wish = wish(&fields, &target, "2026-12-01T06:00:00Z".parse().unwrap());
        (target, wish)
    }

    #[test]
    fn the_narrowest_that_is_filled_in_counts_unless_a_scope_is_named() {
        for (query, scope) in [
            ("upstream=graph", "upstream"),
            ("upstream=graph&app=&tenant=&user=+", "upstream"),
            ("upstream=graph&app=a", "app"),
            ("upstream=graph&app=a&tenant=t", "tenant"),
            ("upstream=graph&user=u", "user"),
            ("upstream=graph&scope=tenant&app=a", "tenant"),
            ("upstream=graph&scope=king", "upstream"),
            ("upstream=graph&workload=onenote", "app"),
        ] {
            assert_eq!(asked(query).0.scope, scope, "{query}");
        }
    }

    #[test]
    fn a_scope_takes_the_names_that_it_has_a_use_for() {
        let (_, wish) = asked("scope=tenant&app=a&user=u");
        assert_eq!(
            (wish.app.as_deref(), wish.tenant.as_deref(), wish.user),
            (Some("a"), Some(""), None)
        );
        let (_, wish) = asked("scope=upstream&app=a");
        assert_eq!((wish.app, wish.tenant), (None, None));
    }

    #[test]
    fn an_end_is_a_length_or_an_instant_in_utc() {
        for (query, until) in [
            ("", None),
            ("minutes=60", Some("2026-12-01T07:00:00Z")),
            (
                "minutes=60&until=2026-12-01T06:30",
                Some("2026-12-01T06:30Z"),
            ),
            ("until=2026-12-01T06:30:00Z", Some("2026-12-01T06:30:00Z")),
            ("until=soon", Some("soon")),
            ("minutes=many", Some("many")),
        ] {
            assert_eq!(asked(query).1.until.as_deref(), until, "{query}");
        }
    }
}
