//! Below all limits: what was changed and throttled in the last hour, and how Spillway itself is.

use leptos::either::Either;
use leptos::prelude::*;

use super::icon::Icon;
use super::name;
use super::pill::{Label, Pill};
use super::wording::{count, plural};
use crate::erase::Erase;
use crate::live::{Change, House, HousePart};
use crate::time::{At, InWords};

/// The two cards; nothing where the state does not tell of it.
#[component]
pub fn HouseCards(
    /// How it is.
    house: Memo<Option<House>>,
) -> impl IntoView {
    let cards = move || {
        let house = house.get()?;
        Some(view! {
            <div class="house">
                <LastHour house=house.clone()/>
                <Itself parts=house.parts/>
            </div>
        })
    };
    view! { {cards} }.erase()
}

#[component]
fn LastHour(house: House) -> impl IntoView {
    let throttled = match house.throttled {
        0 => Label {
            class: "clear",
            icon: Icon::Clear,
            word: "No upstream 429".to_owned(),
            more: String::new(),
        },
        some => Label {
            class: "near",
            icon: Icon::Near,
            word: plural(some, "upstream 429"),
            more: String::new(),
        },
    };
    let more = (house.more_changes > 0).then(|| {
        let more = ["and ", &count(house.more_changes), " more"].concat();
        view! { <p class="means">{more}</p> }
    });
    let changes = match (house.unknown.is_empty(), house.changes.is_empty()) {
        (false, _) => Either::Left(house.unknown),
        (true, true) => Either::Left("Nothing was changed.".to_owned()),
        (true, false) => Either::Right(house.changes),
    };
    let changes = match changes {
        Either::Left(words) => Either::Left(view! { <p class="nothing">{words}</p> }),
        Either::Right(changes) => Either::Right(view! {
            <ul class="rows">{changes.into_iter().map(change).collect_view()}</ul>
        }),
    };
    view! {
        <section class="card" aria-label="The last hour">
            <div class="head">
                <h2>"The last hour"</h2>
                <Pill label=Signal::stored(throttled)/>
            </div>
            {changes}
            {more}
        </section>
    }
    .erase()
}

fn change(change: Change) -> impl IntoView {
    let why = (!change.why.is_empty()).then(|| {
        let why = ["\u{201c}", &name::visible(&change.why), "\u{201d}"].concat();
        view! { <small><bdi>{why}</bdi></small> }
    });
    view! {
        <li>
            <p>
                <b><bdi>{name::visible(&change.who)}</bdi></b>
                " "
                {name::in_words(&change.what)}
                ", "
                <At at=Signal::stored(change.at) style=InWords/>
                " "
                {why}
            </p>
        </li>
    }
}

#[component]
fn Itself(parts: Vec<HousePart>) -> impl IntoView {
    let part = |part: HousePart| {
        let (class, icon) = match part.is_trouble {
            true => ("full", Icon::Full),
            false => ("clear", Icon::Clear),
        };
        let label = Label {
            class,
            icon,
            word: part.said,
            more: String::new(),
        };
        view! {
            <li>
                <p>{part.name}</p>
                <Pill label=Signal::stored(label)/>
            </li>
        }
    };
    view! {
        <section class="card" aria-label="Spillway itself">
            <div class="head">
                <h2>"Spillway itself"</h2>
            </div>
            <ul class="rows">{parts.into_iter().map(part).collect_view()}</ul>
        </section>
    }
    .erase()
}
