//! The page of one workload: its limits now, what was, and its users by trouble.
//!
//! Rendered by the server alone, so that 100,000 users, filters and charts weigh nothing in the
//! browser. It is a snapshot and says so; it asks again by itself where one wants that, and the
//! overview is what moves.

mod figure;
mod users;

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::door::head;
use crate::feed::{Feed, Shown};
use crate::frame::Rail;
use crate::live::{State, UserState};
use crate::overview::{WorkloadValues, wording::workload_title};
use crate::pages::{OVERVIEW_PATH, Page, limits_path, workload_page_path};
use crate::status::Header;
use crate::visitor::Visitor;
pub(crate) use figure::figure;
pub use figure::{Figure, Legend};
use users::users;
pub use users::{Show, UserList};

/// What the page shows.
#[derive(Clone, Debug)]
pub struct WorkloadPage {
    /// Who looks.
    pub visitor: Visitor,
    /// The upstream's name.
    pub upstream: String,
    /// The workload's name.
    pub workload: String,
    /// What is true now; of the budgets those of apps and tenants, and the users of the list.
    pub state: State,
    /// The users that are listed.
    pub users: UserList,
    /// How far back the charts look: one of [`RANGES`].
    pub range: &'static str,
    /// What was.
    pub figures: Vec<Figure>,
    /// Whether there is time in which nothing was recorded.
    pub has_gaps: bool,
    /// What is to be said of them: that there is nothing yet, or that they cannot be read.
    pub note: Option<String>,
    /// Whether it asks again by itself, each ten seconds.
    pub refreshes: bool,
}

/// How far back charts look: as it is asked for, and in words.
pub const RANGES: [(&str, &str); 3] = [("1h", "1 hour"), ("24h", "24 hours"), ("30d", "30 days")];

/// The document as text.
#[must_use]
pub fn workload_page(options: &LeptosOptions, page: WorkloadPage) -> String {
    let owner = Owner::new_root(None);
    let text = owner.with(|| document(options, page).to_html());
    owner.cleanup();
    text
}

fn document(options: &LeptosOptions, page: WorkloadPage) -> impl IntoView + use<> {
    let title = [&page.upstream, " / ", workload_title(&page.workload)].concat();
    Feed::of_snapshot(
        Shown {
            state: page.state.clone(),
            user: UserState::default(),
        },
        page.visitor.clone(),
    );
    let values =
        view! { <WorkloadValues upstream=page.upstream.clone() name=page.workload.clone()/> };
    let visitor = page.visitor.clone();
    view! {
        <!DOCTYPE html>
        <html lang="en">
            {head(options, &title)}
            <body>
                <a class="skip" href="#content">"Skip to the values"</a>
                <Rail page=Page::Workload visitor=visitor/>
                <main id="content" class="workload-page">
                    <nav class="way" aria-label="Way back">
                        <a href=OVERVIEW_PATH>"Overview"</a>
                        " / "
                        <span>{title.clone()}</span>
                    </nav>
                    <Header title=title/>
                    {again(&page)}
                    {values}
                    {past(&page)}
                    {users(&page)}
                </main>
                <script src="/local-time.js" defer></script>
            </body>
        </html>
    }
    .into_any()
}

impl WorkloadPage {
    /// The address of this page with some of what it was asked for replaced.
    fn link(&self, change: &[(&str, &str)]) -> String {
        let refresh = if self.refreshes { "on" } else { "" };
        let asked = [
            ("find", self.users.text.as_str()),
            ("show", self.users.show.name()),
            ("after", self.users.after.as_deref().unwrap_or("")),
            ("range", self.range),
            ("refresh", refresh),
        ];
        let of = |(name, value): &(&'static str, &str)| {
            let changed = change.iter().find(|(changed, _)| changed == name);
            let value = changed.map_or(*value, |(_, value)| value);
            (*name, value.to_owned())
        };
        let asked = asked
            .iter()
            .map(of)
            .filter(|(name, value)| !is_default(name, value));
        workload_page_path(&self.upstream, &self.workload, asked)
    }
}

/// Whether it is what the page shows where nothing is said.
fn is_default(name: &str, value: &str) -> bool {
    value.is_empty() || matches!((name, value), ("show", "all") | ("range", "1h"))
}

/// That it is a snapshot, and the ways to a newer one.
fn again(page: &WorkloadPage) -> impl IntoView + use<> {
    let here = page.link(&[]);
    let (link, words) = match page.refreshes {
        true => (page.link(&[("refresh", "")]), "Stop that"),
        false => (page.link(&[("refresh", "on")]), "Keep asking"),
    };
    let text = match page.refreshes {
        true => "This page asks again every 10 s.",
        false => "This page is a snapshot.",
    };
    let limits = limits_path(&page.upstream, &page.workload);
    view! {
        <p class="again">
            {text}
            " "
            <a href=here>"Ask again now"</a>
            " "
            <a href=link>{words}</a>
            " "
            <a href=limits>"Its limits"</a>
        </p>
    }
}

/// The charts, and how far back they look.
fn past(page: &WorkloadPage) -> impl IntoView + use<> {
    let ranges = RANGES.map(|(range, words)| {
        let current = (range == page.range).then_some("true");
        view! { <a href=page.link(&[("range", range)]) + "#past" aria-current=current>{words}</a> }
    });
    let figures = page.figures.clone().into_iter().map(figure).collect_view();
    let gaps = page.has_gaps.then(|| {
        view! {
            <p class="means">
                "Where a chart is shaded, nothing was recorded: the server did not run."
            </p>
        }
    });
    let note = page
        .note
        .clone()
        .map(|note| view! { <p class="nothing">{note}</p> });
    view! {
        <section class="card past" aria-labelledby="past">
            <div class="head">
                <h2 id="past">"History"</h2>
                <nav class="choices" aria-label="How far back">{ranges.collect_view()}</nav>
            </div>
            {note}
            {gaps}
            <div class="figures">{figures}</div>
        </section>
    }
    .into_any()
}
