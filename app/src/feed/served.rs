//! What the server writes into the page, for the browser to begin with.

use leptos::prelude::*;

use super::Shown;
use crate::live::{State, UserState};
use crate::pages::Page;
use crate::visitor::Visitor;

/// What a page begins with.
#[derive(Default)]
pub struct Served {
    /// Which page it is.
    pub page: Page,
    /// What it shows.
    pub shown: Shown,
    /// Where clients send their calls.
    pub gateway_url: String,
    /// Who looks at it.
    pub visitor: Visitor,
}

/// The same as it is written.
#[derive(Default, serde::Serialize)]
struct Written {
    page: Page,
    state: Option<State>,
    user: Option<UserState>,
    gateway_url: String,
    visitor: Visitor,
}

impl From<Written> for Served {
    fn from(written: Written) -> Self {
        let state = written.state.unwrap_or_default();
        Self {
            page: written.page,
            shown: match written.user {
                Some(user) => user.into(),
                None => Shown {
                    state,
                    user: UserState::default(),
                },
            },
            gateway_url: written.gateway_url,
            visitor: written.visitor,
        }
    }
}

/// What this page begins with; on the server it is also written down.
#[cfg(not(feature = "hydrate"))]
pub fn served() -> Served {
    let written = asked();
    // Plain data: it can always be written.
    SharedValue::new_str(|| serde_json::to_string(&written).unwrap_or_default());
    written.into()
}

/// What this page begins with. One that says nothing of it shows nothing.
#[cfg(feature = "hydrate")]
pub fn served() -> Served {
    let text = SharedValue::new_str(String::new).into_inner();
    crate::live::parse::<Written>(&text)
        .unwrap_or_default()
        .into()
}

#[cfg(feature = "hydrate")]
crate::live::structs! { Written { page state user gateway_url visitor } }

#[cfg(not(feature = "hydrate"))]
fn asked() -> Written {
    #[cfg(feature = "ssr")]
    if let Some(backend) = use_context::<crate::SharedBackend>() {
        let (page, state, user) = match use_context() {
            Some(crate::Asked::Overview) => (Page::Overview, Some(backend.state()), None),
            Some(crate::Asked::User(user)) => (Page::User, None, Some(*user)),
            None => (Page::Nowhere, None, None),
        };
        return Written {
            page,
            state,
            user,
            gateway_url: backend.gateway_url(),
            visitor: use_context().unwrap_or_default(),
        };
    }
    Written::default()
}
