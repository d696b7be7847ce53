//! The networks whose callers need no token.

use leptos::prelude::*;

use crate::overview::name;
use crate::plain::instant;

/// A network whose callers need no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientNetwork {
    /// The upstream that lets them in.
    pub upstream: String,
    /// Their addresses.
    pub cidr: String,
    /// Whose budgets they use; empty: as they say.
    pub app: String,
    /// The lane of calls that name none.
    pub lane: String,
    /// When somebody last called from it, RFC 3339; empty: not since the start.
    pub used_at: String,
}

pub(super) fn card(networks: Vec<ClientNetwork>) -> impl IntoView {
    let body = match networks.is_empty() {
        true => {
            view! { <p class="nothing">"There is none: everybody brings a token."</p> }.into_any()
        }
        false => table(networks).into_any(),
    };
    view! {
        <section class="card" aria-labelledby="networks">
            <div class="head">
                <h2 id="networks">"Networks that need no token"</h2>
            </div>
            {body}
            <p class="means">
                "Who calls the gateway from such an address is let in as it stands. They are set in the configuration file, as "
                <code>"[[upstreams.NAME.clients]]"</code>
                ", by whoever may start the server: nobody who only has an account can open the gateway to a network. Last uses are those since the start."
            </p>
        </section>
    }
}

fn table(networks: Vec<ClientNetwork>) -> impl IntoView {
    let columns = ["Network", "Of", "App", "Lane", "Last used"];
    let heads = columns.map(|column| view! { <th scope="col">{column}</th> });
    view! {
        <table class="facts">
            <thead>
                <tr>{heads.collect_view()}</tr>
            </thead>
            <tbody>{networks.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
}

fn row(network: ClientNetwork) -> impl IntoView {
    let app = match network.app.as_str() {
        "" => "as they say".to_owned(),
        app => name::visible(app),
    };
    let used = match network.used_at.as_str() {
        "" => view! { <span>"not yet"</span> }.into_any(),
        _ => instant(network.used_at).into_any(),
    };
    view! {
        <tr>
            <th scope="row">{network.cidr}</th>
            <td data-name="Of"><bdi>{name::visible(&network.upstream)}</bdi></td>
            <td data-name="App"><bdi>{app}</bdi></td>
            <td data-name="Lane"><span>{network.lane}</span></td>
            <td data-name="Last used">{used}</td>
        </tr>
    }
}
