//! What is disabled, and its re-enablement.
//!
//! A form names what is chosen; the answer asks back with what happens, and its form, with a reason,
//! does it. Each choice is put right by itself: what could not be is said, one by one.

use axum::{
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, request::Parts};
use percent_encoding::percent_decode_str;
use spillway::flood::{Component, ListKey};
use spillway_app::{
    DisabledRow, FLOODS_DISABLED_PATH, FloodsDisabled, Told, component_words, flood_list_path,
    in_words,
};

use super::{
    super::{
        Pages,
        door::{form, sentence},
        plain,
    },
    asked::{self, PAGES_MAX, ROWS},
    list::{busy, is_more},
    one::is_key,
    second, why_not,
};
use crate::{
    audit::{self, By},
    floods::{FoundRow, NotOperated, Search, Wanted},
};

/// The longest form, in bytes: a page of the longest keys, escaped twice.
const FORM_BYTES_MAX: usize = 256 * 1024;

/// The most that is put right by one form.
const CHOSEN_MAX: usize = 100;

/// How many failures are said one by one.
const SAID_MAX: usize = 5;

type Fields = Vec<(String, String)>;

pub(in crate::dashboard) async fn show(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let (head, _) = request.into_parts();
    let (asked, _) = asked::read(query.as_deref().unwrap_or_default());
    let number = asked.page.clamp(1, PAGES_MAX);
    let search = Search {
        wanted: Wanted::Disabled,
        skip: (number - 1) * ROWS,
        max: ROWS,
        ..Search::default()
    };
    let Some(found) = pages.desk.looks.look(pages.floods(), search, false).await else {
        return busy();
    };
    let page = FloodsDisabled {
        rows: found.rows.iter().filter_map(row).collect(),
        matched: found.matched,
        page: number,
        more: is_more(&found, number),
        told: pages.told(&head, query.as_deref()),
        ..empty(&pages, &head)
    };
    plain(
        StatusCode::OK,
        spillway_app::floods_disabled(&pages.options, page),
    )
}

fn empty(pages: &Pages, head: &Parts) -> FloodsDisabled {
    let visitor = pages.visitor_of(head);
    FloodsDisabled {
        why_not: why_not(visitor.may_operate),
        visitor,
        as_of: second(pages.entrance.api.limiters().clock().wall_now()),
        rows: Vec::new(),
        matched: 0,
        page: 1,
        more: false,
        reason: String::new(),
        to_list: false,
        told: None,
    }
}

fn row(found: &FoundRow) -> Option<DisabledRow> {
    let it = found.component.as_ref()?;
    Some(DisabledRow {
        site: found.site.clone(),
        title: found.title.clone(),
        list: found.list.clone(),
        component: it.component.name(),
        since: second(it.disabled_since?),
        strikes: (it.strikes, it.policy.strikes_per_day()),
    })
}

/// Asks back, or does it.
pub(in crate::dashboard) async fn enable(State(pages): State<Pages>, request: Request) -> Response {
    let (head, fields) = match form::<Fields>(request, FORM_BYTES_MAX).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let get = |name: &str| {
        let mut named = fields.iter().filter(|(it, _)| it == name);
        named.next().map_or("", |(_, value)| value.trim())
    };
    let all = fields.iter().filter(|(name, _)| name == "it");
    let chosen: Option<Vec<Chosen>> = all.map(|(_, value)| Chosen::read(value)).collect();
    let to_list = get("to") == "list";
    let chosen = match chosen {
        Some(chosen) if (1..=CHOSEN_MAX).contains(&chosen.len()) => chosen,
        Some(chosen) if chosen.is_empty() => {
            let told = Told::wrong("Nothing was chosen: set a mark first.".to_owned());
            return pages.lead(&head, FLOODS_DISABLED_PATH, told);
        }
        _ => {
            let text = format!("Nothing was done: at most {CHOSEN_MAX} lists that there are.");
            return pages.lead(&head, FLOODS_DISABLED_PATH, Told::wrong(text));
        }
    };
    let asks = match (get("sure"), reason(get("reason"))) {
        ("yes", Ok(reason)) => return pages.put_right(&head, chosen, reason, to_list).await,
        ("yes", Err(problem)) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            Some(Told::wrong(problem.to_owned())),
        ),
        _ => (StatusCode::OK, None),
    };
    pages.ask_back(&head, &chosen, get("reason"), to_list, asks)
}

/// A reason as it is written down.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub(super) fn reason(text: &str) -> Result<&str, &'static str> {
    if text.is_empty() {
        return Err("Nothing was done: say why.");
    }
    let no = "Nothing was done: a reason is one line of at most 500 characters that can be seen.";
    audit::reason(text).map_err(|_| no)
}

/// A component on a list, as forms name it: `action/site/list`, the keys escaped.
struct Chosen {
    key: ListKey,
    component: Component,
}

impl Chosen {
    fn read(value: &str) -> Option<Self> {
        let mut parts = value.split('/');
        let component = asked::component(parts.next()?)?;
        let mut key = || {
            let key = percent_decode_str(parts.next()?).decode_utf8().ok()?;
            is_key(&key).then(|| key.into_owned())
        };
        let (site, list) = (key()?, key()?);
        let is_all = parts.next().is_none();
        is_all.then_some(Self {
            key: ListKey { site, list },
            component,
        })
    }

    /// `Action of orders`.
    fn words(&self) -> String {
        let component = component_words(self.component.name());
        format!("{component} of {}", in_words(&self.key.list))
    }
}

impl Pages {
    fn ask_back(
        &self,
        head: &Parts,
        chosen: &[Chosen],
        reason: &str,
        to_list: bool,
        (status, told): (StatusCode, Option<Told>),
    ) -> Response {
        let page = FloodsDisabled {
            rows: chosen.iter().map(|it| self.chosen_row(it)).collect(),
            matched: chosen.len(),
            reason: reason.to_owned(),
            to_list,
            told,
            ..empty(self, head)
        };
        plain(status, spillway_app::floods_confirm(&self.options, page))
    }

    fn chosen_row(&self, chosen: &Chosen) -> DisabledRow {
        let ListKey { site, list } = &chosen.key;
        let now = self.floods().list(site, list);
        let components = now.map(|it| it.components).unwrap_or_default();
        let now = components
            .iter()
            .find(|it| it.component == chosen.component);
        DisabledRow {
            site: site.clone(),
            title: String::new(),
            list: list.clone(),
            component: chosen.component.name(),
            since: now
                .and_then(|it| it.disabled_since)
                .map(second)
                .unwrap_or_default(),
            strikes: now.map_or((0, 0), |it| (it.strikes, it.policy.strikes_per_day())),
        }
    }

    async fn put_right(
        &self,
        head: &Parts,
        chosen: Vec<Chosen>,
        reason: &str,
        to_list: bool,
    ) -> Response {
        let by = self.entrance.trail.by(head).because(reason);
        let all = chosen.len();
        let mut failed = Vec::new();
        for it in &chosen {
            if let Err(not) = self.put_one_right(it, &by).await {
                failed.push(format!("{}: {not}.", it.words()));
            }
        }
        self.desk.looks.forget();
        let path = match chosen.first() {
            Some(it) if to_list && all == 1 => flood_list_path(&it.key.site, &it.key.list),
            _ => FLOODS_DISABLED_PATH.to_owned(),
        };
        self.lead(head, &path, outcome(all, failed))
    }

    async fn put_one_right(&self, it: &Chosen, by: &By) -> Result<(), NotOperated> {
        self.floods().enable(&it.key, it.component, by).await
    }
}

/// What became of all choices, in sentences.
fn outcome(all: usize, failed: Vec<String>) -> Told {
    let done = all - failed.len();
    let mut text = match (done, all) {
        (1, 1) => "It is re-enabled: its events are handled again.".to_owned(),
        (done, all) if done == all => format!("All {all} are re-enabled."),
        (0, 1) => "It was not re-enabled.".to_owned(),
        (done, all) => format!("{done} of {all} are re-enabled."),
    };
    for failure in failed.iter().take(SAID_MAX) {
        text += " ";
        text += &sentence(&failure.trim_end_matches('.'));
    }
    if failed.len() > SAID_MAX {
        text += &format!(" {} more were not.", failed.len() - SAID_MAX);
    }
    match failed.is_empty() {
        true => Told::done(text),
        false => Told::wrong(text),
    }
}

#[cfg(test)]
mod tests {
    use spillway_app::Said;

    use super::*;

    #[test]
    fn a_choice_is_read_back_as_it_was_written_and_nothing_else_is() {
        let chosen = Chosen::read("item_id/a%2Fb%3F/%E6%9D%8E").unwrap();
        assert_eq!(chosen.key, ListKey::new("a/b?", "李"));
        assert_eq!(chosen.component, Component::ItemId);
        for value in [
            "",
            "action",
            "action/s",
            "king/s/l",
            "action/s/l/x",
            "action//l",
            "action/%00/l",
            "action/%FF/l",
            &format!("action/s/{}", "a".repeat(257)),
        ] {
            assert!(Chosen::read(value).is_none(), "{value}");
        }
    }

    #[test]
    fn what_could_not_be_put_right_is_said_one_by_one() {
        let said = |all, failed: usize| {
            let failed = (0..failed).map(|n| format!("Action of l{n}: no."));
            match outcome(all, failed.collect()).said {
                Said::Done(text) | Said::Wrong(text) => text,
            }
        };
        assert_eq!(said(3, 0), "All 3 are re-enabled.");
        assert_eq!(said(3, 1), "2 of 3 are re-enabled. Action of l0: no.");
        assert!(said(9, 7).ends_with("Action of l4: no. 2 more were not."));
    }

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(reason("rule mended"), Ok("rule mended"));
        assert!(reason("").is_err() && reason("a\nb").is_err());
        assert!(reason(&"a".repeat(501)).is_err());
    }
}
