//! What was, as charts with their tables.

mod breakers;
mod calls;
mod limits;

use jiff::Timestamp;
use spillway_app::{Figure, Legend, live::Scope};

use crate::{
    chart::{self, Lines, Paint, Series, Span, Style, Unit},
    history::{Past, Point, Range, coarser, gaps},
    store,
};

/// How long the points of a chart last, and those of its table, milliseconds: some 240 and at most 60.
const fn steps_ms(range: Range) -> (i64, i64) {
    match range {
        Range::Hour => (20_000, 60_000),
        Range::Day => (6 * 60_000, 30 * 60_000),
        Range::Month => (3 * 3_600_000, 12 * 3_600_000),
    }
}

/// The charts of what was recorded.
#[derive(Default)]
pub(super) struct Charts {
    pub(super) figures: Vec<Figure>,
    /// Whether there is time in which nothing was recorded.
    pub(super) has_gaps: bool,
    /// What is to be said of them.
    pub(super) note: Option<String>,
}

/// Draws what was recorded.
pub(super) fn charts(past: Result<Past, store::Error>, range: Range) -> Charts {
    let note = match past {
        Ok(past) if !past.points.is_empty() => return drawn(&past, range),
        Ok(_) => {
            "Nothing was recorded in this time. The first values appear ten seconds after the \
                  server has started."
                .to_owned()
        }
        Err(error) => {
            format!("The history cannot be read: {error}. Everything else on this page is current.")
        }
    };
    Charts {
        note: Some(note),
        ..Charts::default()
    }
}

fn drawn(past: &Past, range: Range) -> Charts {
    let (step_ms, row_ms) = steps_ms(range);
    let shown = Shown {
        drawn: coarser(past, step_ms),
        rows: coarser(past, row_ms),
        gaps: gaps(past),
    };
    let figures = [
        shown.limits(Scope::App, "The app's limits"),
        shown.limits(Scope::Tenant, "Limits of the tenant closest to one"),
        shown.limits(Scope::User, "Limits of the user closest to one"),
        shown.calls(),
        shown.lanes(),
        shown.breakers(),
    ];
    let mut charts = Charts {
        has_gaps: !shown.gaps.is_empty(),
        ..Charts::default()
    };
    for figure in figures.into_iter().flatten() {
        match figure {
            Ok(figure) => charts.figures.push(figure),
            Err(error) => charts.note = Some(error.to_string()),
        }
    }
    charts
}

/// What was, as it is shown.
struct Shown {
    /// For the drawings.
    drawn: Past,
    /// For the tables.
    rows: Past,
    /// When nothing was recorded.
    gaps: Vec<(i64, i64)>,
}

/// What a line tells of a point, if it tells something.
type Value<'a> = Box<dyn Fn(&Point) -> Option<f64> + 'a>;

/// A line of a chart and a column of its table.
struct Line<'a> {
    name: String,
    paint: Paint,
    class: &'static str,
    style: Style,
    value: Value<'a>,
}

impl Shown {
    fn figure(&self, title: &str, unit: Unit, lines: &[Line<'_>]) -> Result<Figure, chart::Error> {
        let series = lines.iter().map(|line| Series {
            paint: line.paint,
            style: line.style,
            points: self.points(&line.value),
        });
        let gaps = self.gaps.iter();
        let svg = chart::lines(&Lines {
            title,
            description: &self.described(lines, unit),
            span: self.span()?,
            unit,
            series: series.collect(),
            gaps: gaps
                .filter_map(|(from, until)| Span::new(*from, *until))
                .collect(),
        })?;
        let legend = lines.iter().map(|line| Legend {
            class: line.class,
            words: line.name.clone(),
        });
        let columns = lines.iter().map(|line| line.name.clone());
        let values = |point: Option<&Point>| {
            let value = |line: &Line<'_>| said(point.and_then(|point| (line.value)(point)), unit);
            lines.iter().map(value).collect()
        };
        Ok(Figure {
            title: title.to_owned(),
            svg,
            legend: legend.collect(),
            head: std::iter::once("From".to_owned()).chain(columns).collect(),
            rows: self.table(values),
        })
    }

    fn span(&self) -> Result<Span, chart::Error> {
        let span = Span::new(self.drawn.from_ms, self.drawn.until_ms);
        span.ok_or_else(|| chart::Error::Draw("it shows no time at all".to_owned()))
    }

    /// The values of a line, with one that is missing where a point is.
    fn points(&self, value: impl Fn(&Point) -> Option<f64>) -> Vec<chart::Point> {
        let mut points = Vec::new();
        let mut next = None;
        for (at_ms, point) in &self.drawn.points {
            if next.is_some_and(|next| next < *at_ms) {
                let at_ms = *at_ms;
                points.push(chart::Point { at_ms, value: None });
            }
            points.push(chart::Point {
                at_ms: *at_ms,
                value: value(point),
            });
            next = Some(at_ms + self.drawn.step_ms);
        }
        points
    }

    /// A row for each while of the table, the newest first; where nothing was recorded, none of
    /// its values.
    fn table(&self, values: impl Fn(Option<&Point>) -> Vec<String>) -> Vec<(String, Vec<String>)> {
        let Past {
            from_ms,
            until_ms,
            step_ms,
            points,
        } = &self.rows;
        let mut rows = Vec::new();
        let mut at_ms = until_ms.div_euclid(*step_ms) * step_ms;
        while at_ms >= *from_ms {
            let found = points.binary_search_by_key(&at_ms, |(at_ms, _)| *at_ms);
            let point = found
                .ok()
                .and_then(|at| points.get(at))
                .map(|(_, point)| point);
            rows.push((instant(at_ms), values(point)));
            at_ms -= step_ms;
        }
        rows
    }

    /// `Hour 77 % at most, 12 % last.`
    fn described(&self, lines: &[Line<'_>], unit: Unit) -> String {
        let line = |line: &Line<'_>| {
            let mut values = self
                .drawn
                .points
                .iter()
                .filter_map(|(_, it)| (line.value)(it));
            let most = values.clone().max_by(f64::total_cmp);
            let last = values.next_back();
            [
                &line.name,
                " ",
                &said(most, unit),
                " at most, ",
                &said(last, unit),
                " last",
            ]
            .concat()
        };
        lines.iter().map(line).collect::<Vec<_>>().join("; ") + "."
    }
}

/// Stands where nothing was recorded.
const NOTHING: &str = "\u{2013}";

/// `77 %`, `12.5`.
fn said(value: Option<f64>, unit: Unit) -> String {
    match (value, unit) {
        (None, _) => NOTHING.to_owned(),
        (Some(value), Unit::Percent) => format!("{value:.0}\u{a0}%"),
        (Some(value), Unit::Count) if value.fract() == 0.0 => format!("{value:.0}"),
        (Some(value), Unit::Count) => format!("{value:.1}"),
    }
}

/// RFC 3339 in UTC.
fn instant(at_ms: i64) -> String {
    let at = Timestamp::from_millisecond(at_ms);
    at.map_or_else(|_| String::new(), |at| format!("{at:.0}"))
}

#[cfg(test)]
mod tests;
