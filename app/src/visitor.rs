//! Who looks at the pages, and the way in and out.

use leptos::either::EitherOf3;
use leptos::prelude::*;

use crate::erase::Erase;
use crate::overview::name;

/// Who looks at a page; the server says so when it renders it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Visitor {
    /// What the account is called; empty: nobody is signed in.
    pub name: String,
    /// What they may do; empty: the server is open, and there are no roles.
    pub role: String,
    /// Whether they may pause, resume and force.
    pub may_operate: bool,
}

#[cfg(feature = "hydrate")]
crate::live::structs! { Visitor { name role may_operate } }

impl Default for Visitor {
    /// Anybody, where the server is open.
    fn default() -> Self {
        Self {
            name: String::new(),
            role: String::new(),
            may_operate: true,
        }
    }
}

/// Who is signed in, as what, and the way out; or the way in.
#[component]
pub fn Menu(visitor: Visitor) -> impl IntoView {
    let Visitor { name, role, .. } = visitor;
    let menu = match (name.as_str(), role.as_str()) {
        (_, "") => EitherOf3::A(()),
        ("", role) => {
            let role = ["As a ", role, " "].concat();
            EitherOf3::B(view! {
                <p class="account">
                    <small>{role}</small>
                    <a href="/sign-in">"Sign in"</a>
                </p>
            })
        }
        (name, role) => {
            let (name, role) = (name::visible(name), role.to_owned());
            EitherOf3::C(view! {
                <details class="account">
                    <summary>
                        <b><bdi>{name}</bdi></b>
                        " "
                        <small>{role}</small>
                    </summary>
                    <div>
                        <form method="post" action="/sign-out">
                            <button type="submit">"Sign out"</button>
                        </form>
                    </div>
                </details>
            })
        }
    };
    menu.erase()
}
