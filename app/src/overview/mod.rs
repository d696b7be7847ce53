//! The overview: the first screen, at three in the morning and otherwise.
//!
//! Each part has a pure half, which works out what is shown from the live state, and a
//! component that draws it. Components read memos, so that a delta touches only the
//! elements whose values changed.

mod arc;
pub(crate) mod breaker;
pub(crate) mod budget_row;
#[cfg(test)]
pub(crate) mod fixture;
mod flow;
mod gauge;
mod icon;
mod labels;
mod lanes;
pub(crate) mod lead;
pub(crate) mod name;
pub(crate) mod pill;
mod users;
pub(crate) mod wording;
mod workload;

use leptos::prelude::*;

use crate::erase::Erase;

pub use icon::{Icon, Sign};

use crate::announcer::Announcer;
use crate::feed::Feed;
use crate::status::Header;
use lead::{LeadSection, lead};
use workload::WorkloadCard;

/// The page at `/`.
#[component]
pub fn Overview() -> impl IntoView {
    let feed = Feed::expect();
    let names = Memo::new(move |_| {
        feed.shown.with(|it| {
            let workloads = it.state.upstreams.iter().flat_map(|upstream| {
                let names = upstream.workloads.iter();
                names.map(|workload| (upstream.name.clone(), workload.name.clone()))
            });
            workloads.collect::<Vec<_>>()
        })
    });
    let said = Memo::new(move |_| {
        let now_ms = feed.clock_ms.get();
        feed.shown.with(|it| {
            feed.gateway_url
                .with_value(|url| lead(&it.state, url, now_ms))
        })
    });
    let headline = Signal::derive(move || said.with(|lead| lead.headline.clone()));
    // They come and go with the configuration: no list with keys is needed to follow them.
    let cards = move || {
        let card = |(upstream, name)| view! { <WorkloadCard upstream=upstream name=name/> };
        names.get().into_iter().map(card).collect_view()
    };
    view! {
        <Header title="Overview".to_owned()/>
        <Announcer headline=headline/>
        <div class="values" class:old=move || feed.freshness.get().is_old()>
            <LeadSection said=said/>
            {cards}
        </div>
    }
    .erase()
}

#[cfg(all(test, feature = "ssr"))]
mod tests;
