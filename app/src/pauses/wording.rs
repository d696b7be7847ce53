//! Whose background calls are paused, in words.

use crate::live::{Pause, PauseScope};
use crate::overview::name;
use crate::overview::wording::count;

/// `User ana of graph (tenant contoso, app note-bridge)`.
pub fn whose(upstream: &str, pause: &Pause) -> String {
    let of = [" of ", &name::in_words(upstream)].concat();
    let app = ["app ", &name::in_words(&pause.app)].concat();
    let tenant = match pause.tenant.as_str() {
        "" => "no tenant".to_owned(),
        tenant => ["tenant ", &name::in_words(tenant)].concat(),
    };
    match pause.scope {
        PauseScope::Upstream => ["All", &of].concat(),
        PauseScope::App => ["All of the ", &app, &of].concat(),
        PauseScope::Tenant => ["All in ", &tenant, &of, " (", &app, ")"].concat(),
        PauseScope::User => {
            let user = name::in_words(&pause.user);
            ["User ", &user, &of, " (", &tenant, ", ", &app, ")"].concat()
        }
    }
}

/// `and 12 more, of narrower scopes`, where some are not shown.
pub fn left_out(all: usize, shown_max: usize) -> Option<String> {
    let more = all.checked_sub(shown_max).filter(|more| *more > 0)?;
    Some(
        [
            "and ",
            &count(more as u64),
            " more: GET /api/v1/state lists all",
        ]
        .concat(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(scope: PauseScope, tenant: &str) -> Pause {
        Pause {
            scope,
            app: "note-bridge".to_owned(),
            tenant: tenant.to_owned(),
            user: "ana".to_owned(),
            ..Pause::default()
        }
    }

    #[test]
    fn it_is_said_whose_calls_wait() {
        for (scope, tenant, expected) in [
            (PauseScope::Upstream, "", "All of graph"),
            (PauseScope::App, "", "All of the app note-bridge of graph"),
            (
                PauseScope::Tenant,
                "contoso",
                "All in tenant contoso of graph (app note-bridge)",
            ),
            (
                PauseScope::User,
                "contoso",
                "User ana of graph (tenant contoso, app note-bridge)",
            ),
            (
                PauseScope::User,
                "",
                "User ana of graph (no tenant, app note-bridge)",
            ),
        ] {
            assert_eq!(whose("graph", &pause(scope, tenant)), expected);
        }
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        assert_eq!(left_out(8, 8), None);
        assert_eq!(
            left_out(1_000, 8).as_deref(),
            Some("and 992 more: GET /api/v1/state lists all")
        );
    }
}
