//! A component on a list: its gauge, its strikes and its state, as every page of floods shows them.

use leptos::prelude::*;

use super::{component_words, flood_list_path};
use crate::overview::name;
use crate::overview::pill::{Label, Pill};
use crate::overview::wording::{Zone, count};
use crate::pages::escaped;
use crate::plain::instant;

/// A component on a list, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodComponent {
    /// Its name: `action`, `alert`, `item_id`, `summary`.
    pub name: &'static str,
    /// The events counted in the running minute.
    pub count: u32,
    /// The event of a minute that is a strike.
    pub per_minute: u32,
    /// Today's strikes.
    pub strikes: u32,
    /// The strike of a day that disables.
    pub strikes_per_day: u32,
    /// How many of a day's first strikes stop nothing.
    pub grace: u32,
    /// Whether the running minute's further events are stopped.
    pub stopping: bool,
    /// Since when it is disabled, RFC 3339; `None`: it is not.
    pub disabled_since: Option<String>,
}

/// A row of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodRow {
    /// The site's key.
    pub site: String,
    /// What people call it; empty: by its key.
    pub title: String,
    /// Where it runs; empty: unknown.
    pub region: String,
    /// The list's key within the site.
    pub list: String,
    /// The component, if events of one were reported.
    pub component: Option<FloodComponent>,
    /// When the list's pause ends, or its site's, RFC 3339; `None`: it is not paused.
    pub paused_until: Option<String>,
    /// Whether it is the site that is paused.
    pub of_site: bool,
}

impl FloodComponent {
    /// The running minute in thousandths of the threshold, at most 1,000.
    fn permille(&self) -> u32 {
        let permille = u64::from(self.count) * 1_000 / u64::from(self.per_minute.max(1));
        u32::try_from(permille.min(1_000)).unwrap_or(1_000)
    }

    /// Its state: sign, word and colour.
    pub(super) fn label(&self, is_paused: bool) -> Label {
        let reached = self.count >= self.per_minute;
        match (self.disabled_since.is_some(), is_paused, self.stopping) {
            (true, true, _) => held("Disabled, paused"),
            (true, false, _) => Label::zone(Zone::Full, "Disabled"),
            (false, true, _) => held("Paused"),
            (false, false, true) => Label::zone(Zone::Full, "Stopped"),
            _ if reached => Label::zone(Zone::Near, "In grace"),
            _ if Zone::at(self.permille()) != Zone::Clear => Label::zone(Zone::Near, "Near"),
            _ => Label::zone(Zone::Clear, "Handled"),
        }
    }

    /// `3 of 20`, and how many more stop nothing.
    pub(super) fn strikes(&self) -> (String, String) {
        let strikes = [&count(self.strikes), " of ", &count(self.strikes_per_day)].concat();
        let graced = self.grace.saturating_sub(self.strikes);
        let note = match (self.disabled_since.is_some(), self.strikes, graced) {
            (true, ..) | (_, 0, _) => String::new(),
            (_, _, 0) => "the next stops its minute".to_owned(),
            (_, _, 1) => "1 more in grace".to_owned(),
            (_, _, more) => [&count(more), " more in grace"].concat(),
        };
        (strikes, note)
    }

    /// What happens to its next event, in a sentence.
    #[must_use]
    pub fn next(&self, is_paused: bool) -> String {
        let left = self.per_minute.saturating_sub(self.count);
        match (is_paused, self.disabled_since.is_some(), self.stopping) {
            (true, ..) => "Its events are neither handled nor counted while it is paused.".to_owned(),
            (_, true, _) => {
                "No event of it is handled until a person re-enables it; what people and timers ask for is.".to_owned()
            }
            (_, _, true) => "Further events of this minute are not handled; the next minute begins anew.".to_owned(),
            _ if left == 0 => "This minute's strike was in grace: its events are still handled.".to_owned(),
            _ => [
                "Events are handled; after ",
                &count(left),
                " more within this minute, strike ",
                &count(self.strikes + 1),
                " is due.",
            ]
            .concat(),
        }
    }
}

fn held(word: &str) -> Label {
    Label::held(word)
}

/// The running minute against the threshold.
pub(super) fn gauge(it: &FloodComponent, whose: &str) -> impl IntoView + use<> {
    let zone = match it.disabled_since.is_some() {
        true => Zone::Full,
        false => Zone::at(it.permille()),
    };
    let said = [
        &count(it.count),
        " of ",
        &count(it.per_minute),
        " events this minute",
    ]
    .concat();
    let label = [component_words(it.name), " of ", whose, ", this minute"].concat();
    let numbers = [&count(it.count), " / ", &count(it.per_minute)].concat();
    view! {
        <div
            role="meter"
            class="tally"
            aria-label=label
            aria-valuemin="0"
            aria-valuemax=it.per_minute.to_string()
            aria-valuenow=it.count.min(it.per_minute).to_string()
            aria-valuetext=said
        >
            <svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
                <rect class="track" width="1000" height="8"></rect>
                <rect class=zone.class() width=it.permille().to_string() height="8"></rect>
            </svg>
            <span class="numbers">{numbers}</span>
        </div>
    }
}

impl FloodRow {
    /// What tells it from all other rows.
    fn key(&self) -> String {
        let component = self.component.as_ref().map_or("", |it| it.name);
        [
            component,
            "/",
            &escaped(&self.site),
            "/",
            &escaped(&self.list),
        ]
        .concat()
    }

    /// `orders of site Shop`.
    pub(super) fn whose(&self) -> String {
        [
            &name::in_words(&self.list),
            " of site ",
            &name::in_words(self.site_words()),
        ]
        .concat()
    }

    pub(super) fn site_words(&self) -> &str {
        match self.title.as_str() {
            "" => &self.site,
            title => title,
        }
    }
}

/// A row of the table.
pub(super) fn row(row: FloodRow) -> impl IntoView {
    let href = flood_list_path(&row.site, &row.list);
    let component = row.component.as_ref().map(|it| component_words(it.name));
    let region = (!row.region.is_empty()).then(|| {
        view! { " \u{b7} " <bdi>{name::visible(&row.region)}</bdi> }
    });
    let is_paused = row.paused_until.is_some();
    let (label, strikes, note, gauge) = match &row.component {
        Some(it) => {
            let (strikes, note) = it.strikes();
            let gauge = gauge(it, &row.whose()).into_any();
            (it.label(is_paused), strikes, note, gauge)
        }
        None => {
            let nothing = view! { <span class="numbers">"no event yet"</span> }.into_any();
            (
                held("Paused"),
                "\u{2013}".to_owned(),
                String::new(),
                nothing,
            )
        }
    };
    let since = row
        .component
        .as_ref()
        .and_then(|it| it.disabled_since.clone());
    let until = row.paused_until.clone();
    let site = if row.of_site {
        "site paused until "
    } else {
        "until "
    };
    view! {
        <tr role="row" data-row=row.key()>
            <th role="rowheader" scope="row" class="who">
                <a href=href><bdi>{name::visible(&row.list)}</bdi></a>
                <small>
                    {component} " \u{b7} " <bdi>{name::visible(row.site_words())}</bdi> {region}
                </small>
            </th>
            <td role="cell" class="level" data-cell="">{gauge}</td>
            <td role="cell" class="strikes" data-cell="">
                <span>{strikes}</span>
                {said(note)}
            </td>
            <td role="cell" class="state" data-cell="">
                <Pill label=Signal::stored(label)/>
                {since.map(|at| view! { <small>"since " {instant(at)}</small> })}
                {until.map(|at| view! { <small>{site} {instant(at)}</small> })}
            </td>
        </tr>
    }
    .into_any()
}

/// What stands below a number, if anything.
pub(super) fn said(note: String) -> impl IntoView {
    (!note.is_empty()).then(|| view! { <small>{note}</small> })
}

/// The head of the table.
pub(super) fn head() -> impl IntoView {
    view! {
        <thead role="rowgroup">
            <tr role="row">
                <th role="columnheader" scope="col">"List"</th>
                <th role="columnheader" scope="col">"Events this minute"</th>
                <th role="columnheader" scope="col">"Strikes today"</th>
                <th role="columnheader" scope="col">"State"</th>
            </tr>
        </thead>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(count: u32, strikes: u32) -> FloodComponent {
        FloodComponent {
            name: "action",
            count,
            per_minute: 100,
            strikes,
            strikes_per_day: 20,
            grace: 3,
            ..FloodComponent::default()
        }
    }

    #[test]
    fn a_state_is_what_happens_to_the_next_event() {
        let since = Some("2026-12-01T06:00:00Z".to_owned());
        let stopping = FloodComponent {
            stopping: true,
            ..action(140, 5)
        };
        let disabled = FloodComponent {
            disabled_since: since,
            ..action(0, 20)
        };
        for (it, is_paused, word) in [
            (action(0, 0), false, "Handled"),
            (action(79, 0), false, "Handled"),
            (action(80, 0), false, "Near"),
            (action(100, 1), false, "In grace"),
            (stopping.clone(), false, "Stopped"),
            (stopping, true, "Paused"),
            (disabled.clone(), false, "Disabled"),
            (disabled, true, "Disabled, paused"),
        ] {
            assert_eq!(it.label(is_paused).word, word, "{it:?}");
        }
    }

    #[test]
    fn a_gauge_says_all_even_above_its_end() {
        let owner = Owner::new_root(None);
        let html = owner.with(|| gauge(&action(1_500, 4), "l1 of site s1").to_html());
        owner.cleanup();
        for part in [
            r#"aria-valuenow="100""#,
            r#"aria-valuetext="1,500 of 100 events this minute""#,
            r#"aria-label="Action of l1 of site s1, this minute""#,
            r#"width="1000" height="8""#,
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn grace_is_said_as_long_as_there_is_some() {
        assert_eq!(action(0, 0).strikes().1, "");
        assert_eq!(action(0, 2).strikes().1, "1 more in grace");
        assert_eq!(action(0, 3).strikes().1, "the next stops its minute");
    }
}
