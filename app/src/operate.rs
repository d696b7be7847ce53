//! Pages on which operators pause background calls and force breakers: plain forms, each with
//! what it does to running work above its button.

mod background;
mod breaker;
pub(crate) mod parts;

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::erase::Erase as _;
use crate::live::{Breaker, Pause, PauseScope, SetBy};
use crate::overview::name;
use crate::pages::{OPERATE_PATH, Page};
use crate::pauses::whose;
use crate::plain::{Plain, Told, document, instant};
use crate::visitor::Visitor;

pub use background::background;
pub use breaker::breaker;

/// Whom something concerns, as the forms name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The upstream.
    pub upstream: String,
    /// The workload; empty where background calls are meant.
    pub workload: String,
    /// `upstream`, `app`, `tenant` or `user`.
    pub scope: &'static str,
    /// The application's key; empty: all.
    pub app: String,
    /// The tenant's key; empty: none, or all.
    pub tenant: String,
    /// The user's key; empty: all.
    pub user: String,
}

/// Where operators begin: what is in force, and what else can be steered.
#[derive(Clone, Debug)]
pub struct Operate {
    /// Who looks.
    pub visitor: Visitor,
    /// Each upstream's name, and those of whatever has limits there.
    pub upstreams: Vec<(String, Vec<String>)>,
    /// The pauses in force, each with its upstream.
    pub pauses: Vec<(String, Pause)>,
    /// The breakers that are forced.
    pub forced: Vec<(Target, Breaker)>,
    /// What became of the last form.
    pub told: Option<Told>,
}

/// What a form said that was not taken, so that nobody has to type it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Which of the page's forms, by its address's last part; empty: none.
    pub act: String,
    /// The chosen length.
    pub minutes: String,
    /// The end that was typed.
    pub until: String,
    /// The reason.
    pub reason: String,
}

impl Sent {
    /// What that form said; nothing, where it was another.
    pub(crate) fn by(&self, act: &str) -> Self {
        match self.act == act {
            true => self.clone(),
            false => Self::default(),
        }
    }
}

/// The page for one target.
#[derive(Clone, Debug)]
pub struct Steer<T> {
    /// Who looks.
    pub visitor: Visitor,
    /// Whom it concerns.
    pub target: Target,
    /// How it is now.
    pub now: T,
    /// What was sent and not taken.
    pub sent: Sent,
    /// Why nothing can be changed; empty: it can.
    pub why_not: String,
    /// What became of the last form.
    pub told: Option<Told>,
}

impl Target {
    /// In words: `User ana of graph (tenant contoso, app note-bridge)`.
    #[must_use]
    pub fn words(&self) -> String {
        whose(&self.upstream, &Pause::from(self))
    }

    /// Names and values by which forms and addresses say it.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("upstream", &self.upstream),
            ("workload", &self.workload),
            ("app", &self.app),
            ("tenant", &self.tenant),
            ("user", &self.user),
        ];
        let named = all.into_iter().filter(|(_, value)| !value.is_empty());
        named
            .map(|(name, value)| (name, value.clone()))
            .chain([("scope", self.scope.to_owned())])
            .collect()
    }

    /// Where its page is.
    #[must_use]
    pub fn path(&self) -> String {
        let what = if self.workload.is_empty() {
            "background"
        } else {
            "breaker"
        };
        let fields = self.fields();
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, it)| (*name, it.as_str()))
            .collect();
        [OPERATE_PATH, "/", what, &crate::pages::query(&fields)].concat()
    }
}

impl From<&Target> for Pause {
    fn from(target: &Target) -> Self {
        let scopes = [
            PauseScope::Upstream,
            PauseScope::App,
            PauseScope::Tenant,
            PauseScope::User,
        ];
        let mut scopes = scopes.into_iter();
        Self {
            scope: scopes
                .find(|scope| scope.name() == target.scope)
                .unwrap_or_default(),
            app: target.app.clone(),
            tenant: target.tenant.clone(),
            user: target.user.clone(),
            ..Self::default()
        }
    }
}

impl From<&(String, Pause)> for Target {
    fn from((upstream, pause): &(String, Pause)) -> Self {
        Self {
            upstream: upstream.clone(),
            workload: String::new(),
            scope: pause.scope.name(),
            app: pause.app.clone(),
            tenant: pause.tenant.clone(),
            user: pause.user.clone(),
        }
    }
}

/// The document as text.
#[must_use]
pub fn operate(options: &LeptosOptions, page: Operate) -> String {
    let plain = Plain {
        page: Page::Operate,
        visitor: page.visitor,
        title: "Pause and force".to_owned(),
        beside: "what operators hold, and what they can".to_owned(),
        class: "operate",
        told: page.told,
    };
    document(options, plain, || {
        view! {
            {in_force(&page.pauses, &page.forced)}
            {page.upstreams.into_iter().enumerate().map(choose).collect_view()}
        }
    })
}

fn in_force(pauses: &[(String, Pause)], forced: &[(Target, Breaker)]) -> impl IntoView + use<> {
    let paused = pauses.iter().map(|paused| {
        let target = Target::from(paused);
        let what = ["Background calls paused: ", &target.words()].concat();
        held(
            what,
            Some(paused.1.until.clone()),
            paused.1.by.clone(),
            target.path(),
            "End early",
        )
    });
    let forced = forced.iter().map(|(target, breaker)| {
        let word = crate::overview::breaker::word(breaker);
        let workload = name::in_words(&target.workload);
        let what = ["Breaker ", word, ": ", &target.words(), ", ", &workload].concat();
        held(
            what,
            breaker.until.clone(),
            breaker.by.clone(),
            target.path(),
            "Change",
        )
    });
    let rows: Vec<_> = paused.chain(forced).collect();
    let body = match rows.is_empty() {
        true => view! { <p class="nothing">"Nothing is paused, and no breaker is forced."</p> }
            .into_any(),
        false => view! { <ul class="rows">{rows}</ul> }.into_any(),
    };
    view! {
        <section class="card" aria-labelledby="held">
            <div class="head">
                <h2 id="held">"In force now"</h2>
            </div>
            {body}
        </section>
    }
}

fn held(
    what: String,
    until: Option<String>,
    by: Option<SetBy>,
    path: String,
    word: &'static str,
) -> impl IntoView {
    let until = until.map(|until| view! { " until " {instant(to_second(&until))} });
    let label = [word, ": ", &what].concat();
    view! {
        <li>
            <p>
                <b>{what}</b>
                {until}
                {by.map(parts::by)}
            </p>
            <a class="button" href=path aria-label=label>{word}</a>
        </li>
    }
    .erase()
}

/// What is meant is asked for first; what it does to running work is said on the next page.
fn choose((n, (upstream, limited)): (usize, (String, Vec<String>))) -> impl IntoView {
    let id = format!("upstream-{n}");
    let labelled = id.clone();
    let workloads = limited.iter().map(|workload| {
        let words = match workload.as_str() {
            "_global" => "all of an app together (_global)".to_owned(),
            name => name::visible(name),
        };
        view! { <option value=workload.clone()>{words}</option> }
    });
    view! {
        <section class="card" aria-labelledby=labelled>
            <div class="head">
                <h2 id=id><bdi>{name::visible(&upstream)}</bdi></h2>
            </div>
            <div class="halves">
                <form method="get" action=format!("{OPERATE_PATH}/background") class="fields">
                    <h3>"Background calls"</h3>
                    <input type="hidden" name="upstream" value=upstream.clone()/>
                    {parts::keys()}
                    <button type="submit">"Pause or resume: next"</button>
                </form>
                <form method="get" action=format!("{OPERATE_PATH}/breaker") class="fields">
                    <h3>"A breaker"</h3>
                    <input type="hidden" name="upstream" value=upstream/>
                    <label>
                        "Workload"
                        <select name="workload">{workloads.collect_view()}</select>
                    </label>
                    {parts::keys()}
                    <button type="submit">"Force or reset: next"</button>
                </form>
            </div>
        </section>
    }
    .erase()
}

/// RFC 3339 without what is less than a second.
fn to_second(at: &str) -> String {
    match at.split_once('.') {
        Some((seconds, _)) => [seconds, "Z"].concat(),
        None => at.to_owned(),
    }
}
