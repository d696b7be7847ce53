//! The ways to the pages, in one table. Whoever makes a page gives it a line here; that each leads
//! to a route which asks for the same role is tested beside the server's rules.

use leptos::either::Either;
use leptos::prelude::*;

use crate::erase::Erase;
use crate::overview::{Icon, Sign};
use crate::pages::{
    ACCOUNTS_PATH, ALERTS_PATH, AUDIT_PATH, FLOODS_PATH, LIMITS_PATH, OPERATE_PATH, OVERVIEW_PATH,
    Page, SETTINGS_PATH, TOKENS_PATH,
};
use crate::visitor::Visitor;

/// The way to a page.
struct Way {
    page: Page,
    path: &'static str,
    name: &'static str,
    icon: Icon,
    /// The least role that may go there, of [`ROLES`].
    asks: &'static str,
    /// Whether it is about accounts: without one there is nothing to see.
    of_accounts: bool,
}

const WAYS: &[Way] = &[
    Way {
        page: Page::Overview,
        path: OVERVIEW_PATH,
        name: "Overview",
        icon: Icon::Home,
        asks: "viewer",
        of_accounts: false,
    },
    Way {
        page: Page::Limits,
        path: LIMITS_PATH,
        name: "Limits",
        icon: Icon::Limits,
        asks: "viewer",
        of_accounts: false,
    },
    Way {
        page: Page::Floods,
        path: FLOODS_PATH,
        name: "Floods",
        icon: Icon::Flood,
        asks: "viewer",
        of_accounts: false,
    },
    Way {
        page: Page::Alerts,
        path: ALERTS_PATH,
        name: "Alerts",
        icon: Icon::Alerts,
        asks: "viewer",
        of_accounts: false,
    },
    Way {
        page: Page::Operate,
        path: OPERATE_PATH,
        name: "Pause and force",
        icon: Icon::Held,
        asks: "viewer",
        of_accounts: false,
    },
    Way {
        page: Page::Audit,
        path: AUDIT_PATH,
        name: "Audit log",
        icon: Icon::Log,
        asks: "viewer",
        of_accounts: false,
    },
    Way {
        page: Page::Accounts,
        path: ACCOUNTS_PATH,
        name: "Accounts",
        icon: Icon::People,
        asks: "viewer",
        of_accounts: true,
    },
    Way {
        page: Page::Tokens,
        path: TOKENS_PATH,
        name: "Tokens",
        icon: Icon::Key,
        asks: "viewer",
        of_accounts: false,
    },
    Way {
        page: Page::Settings,
        path: SETTINGS_PATH,
        name: "Settings",
        icon: Icon::Settings,
        asks: "member",
        of_accounts: true,
    },
];

/// The roles, from the one that may do least.
const ROLES: [&str; 4] = ["member", "viewer", "operator", "admin"];

/// Where the ways lead, and the least role that each asks for.
#[cfg(feature = "ssr")]
pub fn ways() -> impl Iterator<Item = (&'static str, &'static str)> {
    WAYS.iter().map(|way| (way.path, way.asks))
}

/// The list of pages. What the visitor's role may not see is there, but leads nowhere and says why.
#[component]
pub(crate) fn Ways(
    /// Where the visitor is.
    page: Page,
    /// Who looks.
    visitor: Visitor,
) -> impl IntoView {
    let is_there = |way: &&Way| !way.of_accounts || !visitor.name.is_empty();
    let ways = WAYS.iter().filter(is_there).map(|way| {
        let sign = view! { <Sign icon=Signal::stored(way.icon)/> };
        match may(&visitor, way.asks) {
            true => Either::Left(view! {
                <a href=way.path aria-current=(page == way.page).then_some("page")>
                    {sign}
                    {way.name}
                </a>
            }),
            false => Either::Right(view! {
                <p class="shut">
                    {sign}
                    {way.name}
                    <small>{["for ", way.asks, "s"].concat()}</small>
                </p>
            }),
        }
    });
    view! { <nav aria-label="Pages">{ways.collect_view()}</nav> }.erase()
}

/// Whether the visitor has the role or more; where the server is open there are none.
fn may(visitor: &Visitor, asks: &str) -> bool {
    let rank = |role: &str| ROLES.iter().position(|it| *it == role);
    visitor.role.is_empty() || rank(&visitor.role) >= rank(asks)
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    fn shown(page: Page, name: &str, role: &str) -> String {
        let visitor = Visitor {
            name: name.to_owned(),
            role: role.to_owned(),
            may_operate: false,
        };
        let owner = Owner::new_root(None);
        let html = owner.with(|| view! { <Ways page=page visitor=visitor/> }.to_html());
        owner.cleanup();
        html
    }

    #[test]
    fn the_page_where_one_is_is_marked_alone() {
        let html = shown(Page::Settings, "noor", "operator");
        assert_eq!(html.matches("aria-current").count(), 1);
        assert!(
            html.contains(r#"href="/settings" aria-current="page""#),
            "{html}"
        );
        assert!(!shown(Page::Nowhere, "noor", "operator").contains("aria-current"));
    }

    #[test]
    fn what_a_role_may_not_see_leads_nowhere_and_says_why() {
        let html = shown(Page::Settings, "mia", "member");
        assert!(!html.contains(r#"href="/""#), "{html}");
        assert!(html.contains("for viewers"), "{html}");
        for role in ["viewer", "operator", "admin"] {
            assert!(shown(Page::Overview, "mia", role).contains(r#"href="/""#));
        }
    }

    #[test]
    fn without_an_account_there_is_nothing_of_one_s_own() {
        for role in ["", "viewer"] {
            let html = shown(Page::Overview, "", role);
            assert!(
                !html.contains("/settings") && html.contains(r#"href="/""#),
                "{html}"
            );
        }
    }
}
