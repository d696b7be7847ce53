//! The overview: the first screen, at three in the morning and otherwise.
//!
//! Each part has a pure half, which works out what is shown from the live state, and a
//! component that draws it. Components read memos, so that a delta touches only the
//! elements whose values changed.

mod arc;
mod breaker;
#[cfg(test)]
mod fixture;
mod flow;
mod gauge;
mod icon;
mod lanes;
mod lead;
mod name;
mod pill;
mod users;
mod wording;
mod workload;

use leptos::prelude::*;

use crate::erase::Erase;

pub use icon::{Icon, Sign};

use crate::announcer::Announcer;
use crate::feed::Feed;
use crate::pages::Page;
use crate::status::Header;
use lead::{LeadSection, lead};
use workload::WorkloadCard;

/// The page at `/`.
#[component]
pub fn Overview() -> impl IntoView {
    let feed = Feed::expect();
    let names = Memo::new(move |_| {
        feed.state.with(|state| {
            let workloads = state.upstreams.iter().flat_map(|upstream| {
                let names = upstream.workloads.iter();
                names.map(|workload| (upstream.name.clone(), workload.name.clone()))
            });
            workloads.collect::<Vec<_>>()
        })
    });
    let said = Memo::new(move |_| {
        let now_ms = feed.clock_ms.get();
        feed.state
            .with(|state| feed.gateway_url.with_value(|url| lead(state, url, now_ms)))
    });
    let headline = Signal::derive(move || said.with(|lead| lead.headline.clone()));
    // They come and go with the configuration: no list with keys is needed to follow them.
    let cards = move || {
        let card = |(upstream, name)| view! { <WorkloadCard upstream=upstream name=name/> };
        names.get().into_iter().map(card).collect_view()
    };
    view! {
        <Header title=Page::Overview.title()/>
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
