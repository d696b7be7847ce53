//! What became of calls, and how many there were at once.

use spillway_app::Figure;

use super::{Line, Shown};
use crate::{
    chart::{self, Paint, Style, Unit},
    history::{Point, SAMPLE_EVERY},
};

impl Shown {
    /// What became of the calls, a minute.
    pub(super) fn calls(&self) -> Option<Result<Figure, chart::Error>> {
        fn line<'a>(
            name: &str,
            (paint, class): (Paint, &'static str),
            style: Style,
            count: fn(&Point) -> u64,
        ) -> Line<'a> {
            Line {
                name: name.to_owned(),
                paint,
                class,
                style,
                // Of the time in which somebody looked.
                value: Box::new(move |point| {
                    let minutes = f64::from(point.samples) * SAMPLE_EVERY.as_secs_f64() / 60.0;
                    (minutes > 0.0).then(|| count(point) as f64 / minutes)
                }),
            }
        }
        let lines = [
            line("Background", (Paint::Back, "back"), Style::Area, |it| {
                it.lanes.background.admitted
            }),
            line("Foreground", (Paint::Fore, "fore"), Style::Line, |it| {
                it.lanes.foreground.admitted
            }),
            line("Held first", (Paint::SoftInk, "soft"), Style::Thin, |it| {
                it.lanes.foreground.held + it.lanes.background.held
            }),
            line("Refused", (Paint::Near, "near"), Style::Line, |it| {
                it.lanes.foreground.refused + it.lanes.background.refused
            }),
            line(
                "Throttled by the upstream",
                (Paint::Full, "full"),
                Style::Line,
                |it| it.upstream_throttled,
            ),
        ];
        Some(self.figure("Calls a minute", Unit::Count, &lines))
    }

    /// How many calls ran and waited.
    pub(super) fn lanes(&self) -> Option<Result<Figure, chart::Error>> {
        fn line<'a>(
            name: &str,
            (paint, class): (Paint, &'static str),
            style: Style,
            most: fn(&Point) -> u64,
        ) -> Line<'a> {
            Line {
                name: name.to_owned(),
                paint,
                class,
                style,
                value: Box::new(move |point| Some(most(point) as f64)),
            }
        }
        let lines = [
            line(
                "Background in flight",
                (Paint::Back, "back"),
                Style::Area,
                |it| it.lanes.background.in_flight_max,
            ),
            line(
                "Foreground in flight",
                (Paint::Fore, "fore"),
                Style::Line,
                |it| it.lanes.foreground.in_flight_max,
            ),
            line(
                "Background waiting",
                (Paint::SoftInk, "soft"),
                Style::Thin,
                |it| it.lanes.background.waiting_max,
            ),
            line(
                "Foreground waiting",
                (Paint::Near, "near"),
                Style::Line,
                |it| it.lanes.foreground.waiting_max,
            ),
        ];
        Some(self.figure("Lanes: the most calls at once", Unit::Count, &lines))
    }
}
