//! One layer as an arc: what background and foreground use of it, where the background's
//! share ends, and what the upstream last said of it.

use leptos::either::Either;
use leptos::prelude::*;

use super::arc;
use super::breaker;
use super::icon::{Icon, Sign};
use super::wording::{
    NEAR_PERMILLE, Zone, background_cap, capital, count, layer_name, layer_unit, period, permille,
    short,
};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::instant;
use crate::live::{Breaker, BreakerState, Dimension, Layer};

/// Everything a gauge shows, worked out once per change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// `Hour`.
    pub name: String,
    /// Its colour.
    pub class: &'static str,
    /// The sign beside the caption, if something is to be said.
    pub icon: Option<Icon>,
    /// The caption's colour.
    pub caption_class: &'static str,
    /// What is used, in whole per cent, rounded down: 100 is only what is full.
    pub percent: u64,
    /// What is used.
    pub used: u32,
    /// What of it the background lane uses.
    pub used_background: u32,
    /// The limit.
    pub limit: u32,
    /// `688 of 800`, `15 of 100k`.
    pub of: String,
    /// The class that sets it smaller where it is long, so that it stays within the arc.
    pub of_class: &'static str,
    /// The dashes of the background's arc, if it has one.
    pub background: Option<String>,
    /// The dashes of the foreground's arc, which goes on from there.
    pub foreground: Option<String>,
    /// How far the tick at the background's share is turned.
    pub share: String,
    /// How far the tick at the soft threshold is turned, which the report is measured against.
    pub soft: String,
    /// How far the diamond is turned that stands where the upstream last reported itself.
    pub reported: Option<String>,
    /// What stands under the arc.
    pub caption: String,
    /// The whole in words.
    pub text: String,
}

/// How many characters fit between the ends of the arc at full size.
const OF_CHARS: usize = 11;

/// Works out what a gauge shows of `layer`, in a budget with `breaker`, at `now_ms`.
///
/// The upstream says what share of a limit is used, and not of which: all rates of the
/// budget show it. Calls in flight it does not count.
#[must_use]
pub fn draw(layer: &Layer, breaker: &Breaker, now_ms: i64) -> Drawing {
    let background = permille(layer.used_background, layer.limit);
    let zone = Zone::of(layer);
    let of = [&count(layer.used), " of ", &count(layer.limit)].concat();
    let room = room(layer, zone, now_ms);
    let mut text = format!(
        "{of} {}, {} of them background, whose share is {}. {room}",
        period(layer),
        count(layer.used_background),
        count(background_cap(layer)),
    );
    let reported = breaker
        .reported_permille
        .filter(|_| layer.dimension == Dimension::Rate);
    if let (Some(_), Some(report)) = (reported, breaker::report(breaker, now_ms)) {
        text += ". ";
        text += &capital(report);
    }
    let stopped = breaker::label(breaker).filter(|_| breaker.state != BreakerState::Closed);
    if stopped.is_some() {
        text += ". Breaker ";
        text += breaker::word(breaker);
        text += &breaker::explanation(breaker, now_ms);
    }
    // Room is of no use while nothing passes; otherwise a full limit is what holds calls.
    let stopped = stopped.filter(|_| breaker::stops(breaker) || zone != Zone::Full);
    let (caption_class, icon, caption) = match stopped {
        Some(label) => (label.class, Some(label.icon), label.word),
        None => {
            let icon = (zone != Zone::Clear).then(|| Icon::of(zone));
            (zone.class(), icon, room)
        }
    };
    let short_of = [&short(layer.used), " of ", &short(layer.limit)].concat();
    Drawing {
        name: layer_name(layer),
        class: zone.class(),
        icon,
        caption_class,
        percent: u64::from(layer.used_permille() / 10),
        used: layer.used,
        used_background: layer.used_background,
        limit: layer.limit,
        of_class: match short_of.len() {
            0..=OF_CHARS => "of",
            _ => "of long",
        },
        of: short_of,
        background: arc::dashes(0, background),
        foreground: arc::dashes(background, layer.used_permille()),
        share: arc::turn(u32::from(layer.share_permille)),
        soft: arc::turn(breaker.soft_permille.unwrap_or(NEAR_PERMILLE)),
        reported: reported.map(arc::turn),
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
    /// The breaker of its budget.
    #[prop(into)]
    breaker: Signal<Breaker>,
) -> impl IntoView {
    let feed = Feed::expect();
    let drawing = Memo::new(move |_| {
        let now_ms = feed.clock_ms.get();
        layer.with(|layer| breaker.with(|breaker| draw(layer, breaker, now_ms)))
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
                <Report drawing=drawing/>
                <text class="percent" x="60" y="59">
                    {get(|it| it.percent.to_string())}
                    <tspan class="unit" dx="1">"%"</tspan>
                </text>
                <text class=move || drawing.with(|it| it.of_class) x="60" y="75">{get(|it| it.of.clone())}</text>
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

/// Where the upstream last reported itself, and the threshold that this is measured
/// against; out of sight where there is no report.
#[component]
fn Report(drawing: Memo<Drawing>) -> impl IntoView {
    let hidden = move || drawing.with(|it| it.reported.is_none());
    let soft = move || drawing.with(|it| it.soft.clone());
    let turn = move || drawing.with(|it| it.reported.clone().unwrap_or_default());
    view! {
        <path class="soft" class:none=hidden d=arc::OUTER_TICK transform=soft></path>
        <path
            class="reported"
            class:none=hidden
            d=arc::DIAMOND
            transform=turn
        ></path>
    }
    .erase()
}

/// What stands under the arc while it is current.
#[component]
fn Caption(drawing: Memo<Drawing>) -> impl IntoView {
    let icon = Memo::new(move |_| drawing.with(|it| it.icon));
    view! {
        <span class=move || drawing.with(|it| ["cap ", it.caption_class].concat())>
            {move || icon.get().map(|icon| view! { <Sign icon=icon/> })}
            {move || drawing.with(|it| it.caption.clone())}
        </span>
    }
    .erase()
}

/// `60 s window`, or what is the matter and when it ends. Calls whose connection broke
/// count until their leases end, since nobody can say whether they still run.
fn room(layer: &Layer, zone: Zone, now_ms: i64) -> String {
    let wait = layer
        .frees_at
        .as_deref()
        .and_then(|at| instant::ms_until(now_ms, at))
        .map(instant::wait);
    if layer.lingering > 0 {
        let may = [&count(layer.lingering), " may still run"].concat();
        let frees = wait.map(|wait| [", first slot free in ", &wait].concat());
        return may + &frees.unwrap_or_default();
    }
    match (zone, wait) {
        (_, Some(wait)) => [zone.word(), ", room in ", &wait].concat(),
        (Zone::Clear, None) => layer_unit(layer),
        (zone, None) => zone.word().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{NOW, concurrency, frees, rate, throttled};
    use super::*;

    fn drawn(layer: &Layer) -> Drawing {
        draw(layer, &Breaker::default(), NOW)
    }

    #[test]
    fn a_drawing_holds_the_layers_own_numbers() {
        let drawing = drawn(&rate(3_600, 800, 688, 301));
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
        assert_eq!(drawn(&rate(3_600, 400, 399, 0)).percent, 99);
        assert_eq!(drawn(&concurrency(5, 5, 0)).percent, 100);
    }

    #[test]
    fn captions_say_the_window_or_the_trouble() {
        let full = frees(rate(60, 120, 120, 0), "2026-11-30T14:03:31Z");
        let said = [rate(60, 120, 5, 0), concurrency(5, 1, 0), full].map(|it| drawn(&it).caption);
        assert_eq!(said, ["60 s window", "calls now", "Full, room in 4 s"]);
    }

    #[test]
    fn calls_that_may_still_run_are_said_with_the_end_of_the_first() {
        let lingering = |at| Layer {
            lingering: 3,
            ..frees(concurrency(5, 5, 0), at)
        };
        let drawing = drawn(&lingering("2026-11-30T14:04:51.250Z"));
        assert_eq!(
            (drawing.caption.as_str(), drawing.class, drawing.icon),
            (
                "3 may still run, first slot free in 84 s",
                "full",
                Some(Icon::Full)
            )
        );
        assert!(drawing.text.ends_with(&drawing.caption), "{}", drawing.text);
        let some = Layer {
            frees_at: None,
            ..lingering("")
        };
        assert_eq!(drawn(&some).caption, "3 may still run");
    }

    #[test]
    fn large_numbers_are_short_in_the_arc_and_exact_in_words() {
        let drawing = drawn(&rate(60, 100_000, 15, 0));
        assert_eq!(
            (drawing.of.as_str(), drawing.of_class),
            ("15 of 100k", "of")
        );
        assert!(drawing.text.starts_with("15 of 100,000 this minute"));
        assert_eq!(drawn(&rate(60, 4_000, 1_344, 0)).of_class, "of long");
    }

    #[test]
    fn a_report_is_a_diamond_at_most_at_the_end_and_its_true_figure_in_words() {
        let breaker = Breaker {
            reported_permille: Some(1_250),
            reported_at: Some("2026-11-30T14:03:23Z".to_owned()),
            ..Breaker::default()
        };
        let drawing = draw(&rate(60, 120, 102, 0), &breaker, NOW);
        assert_eq!(drawing.reported, Some(arc::turn(1_000)));
        assert_eq!(drawing.soft, arc::turn(800));
        let earlier = Breaker {
            soft_permille: Some(700),
            ..breaker.clone()
        };
        let earlier = draw(&rate(60, 120, 102, 0), &earlier, NOW);
        assert_eq!(earlier.soft, arc::turn(700), "the workload's own threshold");
        assert_eq!(drawing.caption, "Near");
        assert!(
            drawing.text.ends_with("Near. Upstream says 125 %, 4 s ago"),
            "{}",
            drawing.text
        );
        assert_eq!(draw(&concurrency(5, 1, 0), &breaker, NOW).reported, None);
    }

    #[test]
    fn gauges_of_a_stopped_budget_say_so() {
        let open = throttled(BreakerState::Open, Some("2026-11-30T14:03:39.250Z"));
        let drawing = draw(&rate(60, 120, 5, 0), &open, NOW);
        assert_eq!(
            (
                drawing.class,
                drawing.caption_class,
                drawing.caption.as_str()
            ),
            ("clear", "full", "Open")
        );
        assert!(
            drawing
                .text
                .ends_with("60 s window. Breaker open: upstream throttles, next try in 12 s"),
            "{}",
            drawing.text
        );
        let full = frees(rate(60, 120, 120, 0), "2026-11-30T14:03:31Z");
        let soft = throttled(BreakerState::Soft, None);
        let said = [open, soft].map(|it| draw(&full, &it, NOW).caption);
        assert_eq!(said, ["Open", "Full, room in 4 s"]);
    }
}
