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
mod forced;
mod gauge;
mod house;
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
#[cfg(feature = "ssr")]
pub use users::Rows;
#[cfg(feature = "ssr")]
pub use workload::WorkloadValues;

use crate::announcer::Announcer;
use crate::feed::Feed;
use crate::live::{Breaker, Budget, Pause, Workload};
use crate::pauses::Pauses;
use crate::status::Header;
use forced::ForcedBreakers;
use house::HouseCards;
use lead::{LeadSection, lead};
use wording::{Zone, workload_title};
use workload::WorkloadCard;

/// The page at `/`.
#[component]
pub fn Overview() -> impl IntoView {
    let feed = Feed::expect();
    let names = Memo::new(move |_| {
        feed.shown.with(|it| {
            let workloads = it.state.upstreams.iter().flat_map(|upstream| {
                let used = upstream.workloads.iter().filter(|it| is_shown(it));
                used.map(|workload| (upstream.name.clone(), workload.name.clone()))
            });
            // What is of all workloads comes last.
            let (mut names, of_all): (Vec<_>, Vec<_>) =
                workloads.partition(|(_, name)| workload_title(name) == name);
            names.extend(of_all);
            names
        })
    });
    let said = Memo::new(move |_| {
        let now_ms = feed.clock_ms.get();
        feed.shown.with(|it| {
            feed.gateway_url
                .with_value(|url| lead(&it.state, url, now_ms))
        })
    });
    let pauses = Memo::new(move |_| {
        feed.shown.with(|it| {
            let all = it.state.upstreams.iter().flat_map(|upstream| {
                let of = |pause: &Pause| (upstream.name.clone(), pause.clone());
                upstream.pauses.iter().map(of)
            });
            all.collect()
        })
    });
    let forced = Memo::new(move |_| feed.shown.with(|it| forced::all(&it.state)));
    let house = Memo::new(move |_| feed.shown.with(|it| it.state.house.clone()));
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
            <Pauses pauses=pauses/>
            <ForcedBreakers forced=forced/>
            {cards}
            <HouseCards house=house/>
        </div>
    }
    .erase()
}

/// Limits of the upstream's own are far wider than those of its workloads: they are seen
/// when something is the matter with them.
fn is_shown(workload: &Workload) -> bool {
    let lanes = &workload.lanes;
    let waits = lanes.foreground.waiting + lanes.background.waiting > 0;
    let trouble = |it: &Budget| {
        it.breaker != Breaker::default() || Zone::at(it.closeness_permille()) != Zone::Clear
    };
    workload_title(&workload.name) == workload.name || waits || workload.budgets.iter().any(trouble)
}

#[cfg(all(test, feature = "ssr"))]
mod tests;
