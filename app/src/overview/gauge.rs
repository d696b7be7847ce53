//! One layer as an arc: what background and foreground use of it, and where the
//! background's share ends.

use leptos::either::Either;
use leptos::prelude::*;

use super::arc;
use super::icon::{Icon, Sign};
use super::wording::{Zone, background_cap, count, layer_name, layer_unit, period, permille};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::instant;
use crate::live::Layer;

/// Everything a gauge shows, worked out once per change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// `Hour`.
    pub name: String,
    /// Its colour.
    pub class: &'static str,
    /// The sign beside the caption, if something is to be said.
    pub icon: Option<Icon>,
    /// What is used, in whole per cent, rounded down: 100 is only what is full.
    pub percent: u64,
    /// What is used.
    pub used: u32,
    /// What of it the background lane uses.
    pub used_background: u32,
    /// The limit.
    pub limit: u32,
    /// `688 of 800`.
    pub of: String,
    /// The dashes of the background's arc, if it has one.
    pub background: Option<String>,
    /// The dashes of the foreground's arc, which goes on from there.
    pub foreground: Option<String>,
    /// How far the tick at the background's share is turned.
    pub share: String,
    /// What stands under the arc.
    pub caption: String,
    /// The whole in words.
    pub text: String,
}

/// Works out what a gauge shows of `layer` at `as_of`.
#[must_use]
pub fn draw(layer: &Layer, as_of: &str) -> Drawing {
    let background = permille(layer.used_background, layer.limit);
    let zone = Zone::of(layer);
    let of = format!("{} of {}", count(layer.used), count(layer.limit));
    let caption = caption(layer, zone, as_of);
    let text = format!(
        "{of} {}, {} of them background, whose share is {}. {caption}",
        period(layer),
        count(layer.used_background),
        count(background_cap(layer)),
    );
    Drawing {
        name: layer_name(layer),
        class: zone.class(),
        icon: (zone != Zone::Clear).then(|| Icon::of(zone)),
        percent: u64::from(layer.used_permille() / 10),
        used: layer.used,
        used_background: layer.used_background,
        limit: layer.limit,
        of,
        background: arc::dashes(0, background),
        foreground: arc::dashes(background, layer.used_permille()),
        share: arc::turn(u32::from(layer.share_permille)),
        caption,
        text,
    }
}

/// A gauge of one layer.
#[component]
pub fn Gauge(
    /// Whose it is: `App note-bridge`.
    #[prop(into)]
    owner: Signal<String>,
    /// The layer.
    #[prop(into)]
    layer: Signal<Layer>,
) -> impl IntoView {
    let feed = Feed::expect();
    let drawing = Memo::new(move |_| {
        feed.state
            .with(|state| layer.with(|layer| draw(layer, &state.as_of)))
    });
    let get = move |field: fn(&Drawing) -> String| move || drawing.with(field);
    let label = move || owner.with(|owner| drawing.with(|it| format!("{owner}: {}", it.name)));
    let text = move || {
        let old = if feed.freshness.get().is_old() {
            "No longer current. "
        } else {
            ""
        };
        drawing.with(|it| format!("{old}{}", it.text))
    };
    let old = move || feed.age.get();
    let caption = move || match feed.freshness.get().is_old() {
        true => Either::Left(view! { <span class="cap">{old}</span> }),
        false => Either::Right(view! { <Caption drawing=drawing/> }),
    };
    view! {
        <div
            class=move || drawing.with(|it| format!("gauge {}", it.class))
            role="meter"
            aria-valuemin="0"
            aria-valuemax=get(|it| it.limit.to_string())
            aria-valuenow=get(|it| it.used.min(it.limit).to_string())
            aria-valuetext=text
            aria-label=label
            data-used=get(|it| it.used.to_string())
            data-background=get(|it| it.used_background.to_string())
        >
            <svg viewBox="0 0 120 98" aria-hidden="true">
                <path class="track" d=arc::TRACK></path>
                <Arc class="fore" dashes=Signal::derive(move || drawing.with(|it| it.foreground.clone()))/>
                <Arc class="back" dashes=Signal::derive(move || drawing.with(|it| it.background.clone()))/>
                <path class="share" d=arc::TICK transform=get(|it| it.share.clone())></path>
                <text class="percent" x="60" y="59">
                    {get(|it| it.percent.to_string())}
                    <tspan class="unit" dx="1">"%"</tspan>
                </text>
                <text class="of" x="60" y="75">{get(|it| it.of.clone())}</text>
            </svg>
            <div class="name" aria-hidden="true">
                <b>{get(|it| it.name.clone())}</b>
                {caption}
            </div>
        </div>
    }
    .erase()
}

/// One lane's part of the arc.
#[component]
fn Arc(class: &'static str, dashes: Signal<Option<String>>) -> impl IntoView {
    view! {
        <path
            class=class
            class:none=move || dashes.with(Option::is_none)
            d=arc::TRACK
            pathLength=arc::LENGTH
            stroke-dasharray=move || dashes.get().unwrap_or_default()
        ></path>
    }
    .erase()
}

/// What stands under the arc while it is current.
#[component]
fn Caption(drawing: Memo<Drawing>) -> impl IntoView {
    let icon = Memo::new(move |_| drawing.with(|it| it.icon));
    view! {
        <span class="cap">
            {move || icon.get().map(|icon| view! { <Sign icon=icon/> })}
            {move || drawing.with(|it| it.caption.clone())}
        </span>
    }
    .erase()
}

/// `60 s window`, or what is the matter and when it ends.
fn caption(layer: &Layer, zone: Zone, as_of: &str) -> String {
    let wait = layer
        .frees_at
        .as_deref()
        .and_then(|at| instant::ms_between(as_of, at))
        .map(instant::wait);
    match (zone, wait) {
        (_, Some(wait)) => format!("{}, room in {wait}", zone.word()),
        (Zone::Clear, None) => layer_unit(layer),
        (zone, None) => zone.word().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{AS_OF, concurrency, frees, rate};
    use super::*;

    #[test]
    fn a_drawing_holds_the_layers_own_numbers() {
        let drawing = draw(&rate(3_600, 800, 688, 301), AS_OF);
        assert_eq!(
            (drawing.percent, drawing.used, drawing.limit),
            (86, 688, 800)
        );
        assert_eq!(drawing.of, "688 of 800");
        assert_eq!((drawing.class, drawing.icon), ("near", Some(Icon::Near)));
        assert_eq!(
            drawing.text,
            "688 of 800 this hour, 301 of them background, whose share is 400. Near"
        );
        assert_eq!(drawing.foreground, arc::dashes(376, 860));
        assert_eq!(drawing.background, arc::dashes(0, 376));
    }

    #[test]
    fn only_what_is_full_is_a_hundred_per_cent() {
        assert_eq!(draw(&rate(3_600, 400, 399, 0), AS_OF).percent, 99);
        assert_eq!(draw(&concurrency(5, 5, 0), AS_OF).percent, 100);
    }

    #[test]
    fn captions_say_the_window_or_the_trouble() {
        let full = frees(rate(60, 120, 120, 0), "2026-11-30T14:03:31Z");
        let said =
            [rate(60, 120, 5, 0), concurrency(5, 1, 0), full].map(|it| draw(&it, AS_OF).caption);
        assert_eq!(said, ["60 s window", "calls now", "Full, room in 4 s"]);
    }
}
