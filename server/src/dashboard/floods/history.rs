//! A list's past as charts with their tables.

use jiff::Timestamp;
use spillway::flood::Component;
use spillway_app::{Figure, Legend, component_words};

use crate::{
    chart::{self, Bars, Paint, Span, Stack},
    floods::{DayPeak, LastHour, MINUTES},
    store::StrikeDay,
};

const DAY_MS: i64 = 86_400_000;

/// How many days are shown, today included: strikes are kept for 31.
const DAYS: i32 = 30;

/// A component's colour, and its class in the key.
const fn paint(component: Component) -> (Paint, &'static str) {
    match component {
        Component::Action => (Paint::Fore, "fore"),
        Component::Alert => (Paint::Near, "near"),
        Component::ItemId => (Paint::Clear, "clear"),
        Component::Summary => (Paint::Back, "back"),
    }
}

/// What is drawn: a number for each component and bar.
struct Drawn<'a> {
    title: &'a str,
    /// What it shows, for those who do not see it.
    description: &'a str,
    span: Option<Span>,
    /// What the table's first column is.
    first: &'static str,
    /// Each bar's instant or date, the earliest first.
    bars: Vec<String>,
    /// The components that are used, each with its numbers.
    stacks: Vec<(Component, Vec<u32>)>,
    /// Another column of the table.
    more: Option<(&'static str, Vec<u32>)>,
}

impl Drawn<'_> {
    fn figure(self) -> Result<Figure, chart::Error> {
        let stacks = self.stacks.iter().map(|(component, values)| Stack {
            paint: paint(*component).0,
            values: values.iter().map(|it| f64::from(*it)).collect(),
        });
        let span = self.span;
        let svg = chart::bars(&Bars {
            title: self.title,
            description: self.description,
            span: span.ok_or_else(|| chart::Error::Draw("it shows no time at all".to_owned()))?,
            stacks: stacks.collect(),
        })?;
        let legend = self.stacks.iter().map(|(component, _)| Legend {
            class: paint(*component).1,
            words: component_words(component.name()).to_owned(),
        });
        let names = self.stacks.iter();
        let names = names.map(|(it, _)| component_words(it.name()).to_owned());
        let more = self.more.as_ref();
        let head = std::iter::once(self.first.to_owned()).chain(names);
        let columns = self.stacks.iter().map(|(_, values)| values);
        let columns: Vec<_> = columns.chain(more.map(|(_, values)| values)).collect();
        let row = |(n, at): (usize, &String)| {
            let cell = |values: &&Vec<u32>| values.get(n).copied().unwrap_or(0).to_string();
            (at.clone(), columns.iter().map(cell).collect())
        };
        Ok(Figure {
            title: self.title.to_owned(),
            svg,
            legend: legend.collect(),
            head: head
                .chain(more.map(|(name, _)| (*name).to_owned()))
                .collect(),
            rows: self.bars.iter().enumerate().rev().map(row).collect(),
        })
    }
}

/// The days that are shown.
fn days_until(today: i32) -> std::ops::RangeInclusive<i32> {
    today - (DAYS - 1)..=today
}

fn span_of(days: &std::ops::RangeInclusive<i32>) -> Option<Span> {
    Span::new(midnight(*days.start()), midnight(days.end() + 1))
}

/// The number of each component and day of `found`, of components that have one at all.
fn by_day(
    shown: &std::ops::RangeInclusive<i32>,
    found: &[(Component, i32, u32)],
) -> Vec<(Component, Vec<u32>)> {
    let numbers = |component: Component| {
        let of = |day: i32| {
            let mut all = found.iter();
            let found = all.find(|(of, at, _)| *of == component && *at == day);
            found.map_or(0, |(.., number)| *number)
        };
        let numbers: Vec<_> = shown.clone().map(of).collect();
        (component, numbers)
    };
    let all = Component::ALL.into_iter().map(numbers);
    all.filter(|(_, numbers)| numbers.iter().any(|it| *it > 0))
        .collect()
}

/// Strikes by day of the site's zone; `today` is the number of its day now.
pub(super) fn strikes(days: &[StrikeDay], today: i32) -> Result<Figure, chart::Error> {
    let shown = days_until(today);
    let found: Vec<_> = days
        .iter()
        .map(|it| (it.component, it.day, it.strikes))
        .collect();
    let disabled = shown.clone().map(|day| {
        let of_day = days.iter().filter(|it| it.day == day);
        of_day.map(|it| it.disabled).sum()
    });
    Drawn {
        title: "Strikes of the last 30 days",
        description: &described(days, shown.clone()),
        span: span_of(&shown),
        first: "Day of the site",
        bars: shown.clone().map(date).collect(),
        stacks: by_day(&shown, &found),
        more: Some(("Disabled", disabled.collect())),
    }
    .figure()
}

/// The busiest minute of each day.
pub(super) fn peaks(days: &[DayPeak], today: i32) -> Result<Figure, chart::Error> {
    let shown = days_until(today);
    let found: Vec<_> = days
        .iter()
        .map(|it| (it.component, it.day, it.count))
        .collect();
    let stacks = by_day(&shown, &found);
    let highest = stacks.iter().flat_map(|(_, numbers)| numbers).max();
    let description = match highest {
        Some(highest) => format!("The busiest minute brought {highest} events."),
        None => "No event in these days.".to_owned(),
    };
    Drawn {
        title: "Busiest minute of each day, in events",
        description: &description,
        span: span_of(&shown),
        first: "Day of the site",
        bars: shown.clone().map(date).collect(),
        stacks,
        more: None,
    }
    .figure()
}

/// Events by minute of the last hour, the running one last.
pub(super) fn minutes(hour: &LastHour) -> Result<Figure, chart::Error> {
    let (from, until) = (hour.from.as_millisecond(), hour.until.as_millisecond());
    let count = i64::try_from(MINUTES).unwrap_or(60);
    // Where time runs faster, so do minutes.
    let each = (until - from) / (count - 1).max(1);
    let at = |n: i64| {
        let at = Timestamp::from_millisecond(from + n * each);
        at.map_or_else(|_| String::new(), |at| format!("{at:.0}"))
    };
    let components = hour.components.iter();
    let stacks: Vec<_> = components
        .map(|(component, minutes)| (*component, minutes.to_vec()))
        .collect();
    let all: u64 = stacks
        .iter()
        .flat_map(|(_, it)| it)
        .map(|it| u64::from(*it))
        .sum();
    let highest = stacks.iter().flat_map(|(_, it)| it).max();
    let description = match highest {
        Some(highest) => format!("{all} events; the busiest minute brought {highest}."),
        None => "No event in this hour.".to_owned(),
    };
    Drawn {
        title: "Events by minute of the last hour",
        description: &description,
        span: Span::new(from, until + each),
        first: "Minute",
        bars: (0..count).map(at).collect(),
        stacks,
        more: None,
    }
    .figure()
}

/// `2026-11-30: Action 20, disabled once. …`
fn described(days: &[StrikeDay], shown: std::ops::RangeInclusive<i32>) -> String {
    let said = days.iter().filter(|it| shown.contains(&it.day));
    let said = said.map(|it| {
        let component = component_words(it.component.name());
        let disabled = match it.disabled {
            0 => String::new(),
            1 => ", disabled once".to_owned(),
            times => format!(", disabled {times} times"),
        };
        format!("{}: {component} {}{disabled}.", date(it.day), it.strikes)
    });
    let said: Vec<_> = said.collect();
    match said.is_empty() {
        true => "No strike in these days.".to_owned(),
        false => said.join(" "),
    }
}

fn midnight(day: i32) -> i64 {
    i64::from(day) * DAY_MS
}

/// A date, RFC 3339.
fn date(day: i32) -> String {
    Timestamp::from_millisecond(midnight(day))
        .map_or_else(|_| String::new(), |at| at.strftime("%F").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30.
    const TODAY: i32 = 20_787;

    fn day(component: Component, ago: i32, strikes: u32, disabled: u32) -> StrikeDay {
        StrikeDay {
            component,
            day: TODAY - ago,
            strikes,
            disabled,
        }
    }

    #[test]
    fn the_table_says_what_the_chart_says() {
        let days = [
            day(Component::Action, 31, 9, 0),
            day(Component::Action, 2, 20, 1),
            day(Component::Alert, 2, 5, 0),
            day(Component::Action, 0, 3, 0),
        ];
        let figure = strikes(&days, TODAY).unwrap();
        assert_eq!(
            figure.head,
            ["Day of the site", "Action", "Alert", "Disabled"]
        );
        assert_eq!(figure.rows.len(), 30);
        let row = |at: usize| (figure.rows[at].0.as_str(), figure.rows[at].1.join(" "));
        assert_eq!(row(0), ("2026-11-30", "3 0 0".to_owned()));
        assert_eq!(row(2), ("2026-11-28", "20 5 1".to_owned()));
        assert_eq!(row(29).0, "2026-11-01");
        let said =
            "2026-11-28: Action 20, disabled once. 2026-11-28: Alert 5. 2026-11-30: Action 3.";
        assert!(figure.svg.contains(said), "{}", figure.svg);
    }

    #[test]
    fn minutes_and_peaks_have_a_row_for_each_bar() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let mut counts = [0; MINUTES];
        counts[58] = 140;
        counts[59] = 7;
        let hour = LastHour {
            from: at("2026-12-01T05:01:00Z"),
            until: at("2026-12-01T06:00:00Z"),
            components: vec![(Component::Action, counts)],
        };
        let figure = minutes(&hour).unwrap();
        assert_eq!(figure.rows.len(), 60);
        assert_eq!(
            figure.rows[0],
            ("2026-12-01T06:00:00Z".to_owned(), vec!["7".to_owned()])
        );
        assert_eq!(figure.rows[1].1, ["140"]);
        assert!(
            figure
                .svg
                .contains("147 events; the busiest minute brought 140.")
        );
        let peak = DayPeak {
            component: Component::Summary,
            day: TODAY - 1,
            at: at("2026-11-29T05:01:00Z"),
            count: 61,
        };
        let figure = peaks(&[peak], TODAY).unwrap();
        assert_eq!(figure.head, ["Day of the site", "Summary"]);
        assert_eq!(figure.rows[1].1, ["61"]);
    }

    #[test]
    fn no_strike_is_said() {
        let figure = strikes(&[], TODAY).unwrap();
        assert!(figure.svg.contains("No strike in these days."));
        assert_eq!(figure.head, ["Day of the site", "Disabled"]);
    }
}
