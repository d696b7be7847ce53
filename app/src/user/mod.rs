//! The page of one user: what limits it, what stops it, what it waits for, what runs.

mod breakers;
mod facts;
mod leases;
mod limits;
mod queues;

use leptos::prelude::*;

use crate::announcer::Announcer;
use crate::erase::Erase;
use crate::feed::Feed;
use crate::live::{Pause, PauseScope};
use crate::overview::lead::{LeadSection, one};
use crate::overview::name;
use crate::pages::{OVERVIEW_PATH, background_path, breaker_path};
use crate::pauses::Pauses;
use crate::status::Header;
use breakers::Breakers;
use leases::Leases;
use limits::Limits;
use queues::Queues;

/// The page at `/users/{upstream}/{workload}?app=&tenant=&user=`.
#[component]
pub fn User() -> impl IntoView {
    let feed = Feed::expect();
    let user = Memo::new(move |_| feed.shown.with(|it| it.user.clone()));
    let said = Memo::new(move |_| {
        let now_ms = feed.clock_ms.get();
        user.with(|user| feed.gateway_url.with_value(|url| one(user, url, now_ms)))
    });
    let pauses = Memo::new(move |_| {
        user.with(|user| {
            let of = |pause: &Pause| (user.upstream.clone(), pause.clone());
            user.pauses.iter().map(of).collect()
        })
    });
    let headline = Signal::derive(move || said.with(|lead| lead.headline.clone()));
    // Whose page it is never changes while it is open.
    let (title, place, whose) = user.with_untracked(|user| {
        let tenant = match user.tenant.as_str() {
            "" => "no tenant".to_owned(),
            tenant => ["tenant ", &name::in_words(tenant)].concat(),
        };
        let whose = [&tenant, ", app ", &name::in_words(&user.app)].concat();
        let place = [&user.upstream, " / ", &user.workload].concat();
        (name::visible(&user.user), place, whose)
    });
    let (pause, force) = user.with_untracked(|user| {
        let whose = Pause {
            scope: PauseScope::User,
            app: user.app.clone(),
            tenant: user.tenant.clone(),
            user: user.user.clone(),
            ..Pause::default()
        };
        (background_path(&user.upstream, &whose), breaker_path(user))
    });
    view! {
        <nav class="way" aria-label="Way back">
            <a href=OVERVIEW_PATH>"Overview"</a>
            " / "
            <span>{place}</span>
            <span class="whose">{whose}</span>
        </nav>
        <Header title=title/>
        <Announcer headline=headline/>
        <div class="values" class:old=move || feed.freshness.get().is_old()>
            <LeadSection said=said/>
            <Pauses pauses=pauses/>
            <Limits user=user/>
            <Breakers user=user/>
            <div class="calls">
                <Queues user=user/>
                <Leases user=user/>
            </div>
            <p class="steer">
                <a class="button" href=pause>"Pause its background calls"</a>
                " "
                <a class="button" href=force>"Force or reset its breaker"</a>
            </p>
        </div>
    }
    .erase()
}

#[cfg(all(test, feature = "ssr"))]
mod tests;
