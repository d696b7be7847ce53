//! Breakers that operators hold where they are: whose, until when, by whom and why, and where
//! that is undone.

use leptos::prelude::*;

use super::breaker;
use super::name;
use super::pill::{Label, Pill};
use crate::erase::Erase;
use crate::live::{Breaker, BreakerReason, ForcedBreaker, Pause, State};
use crate::pages::forced_path;
use crate::pauses::{by, left_out, whose};
use crate::time::{At, InWords};

/// How many are listed: the widest, which stop most.
const SHOWN_MAX: usize = 8;

/// A breaker that is held, and the upstream that it is of.
pub type Held = (String, ForcedBreaker);

/// All of them, the widest first.
#[must_use]
pub fn all(state: &State) -> Vec<Held> {
    let mut all: Vec<_> = state
        .upstreams
        .iter()
        .flat_map(|upstream| {
            let of = |held: &ForcedBreaker| (upstream.name.clone(), held.clone());
            upstream.forced.iter().map(of)
        })
        .collect();
    all.sort_by_key(|(_, held)| held.scope);
    all
}

/// `All of the app note-bridge of graph, onenote`.
fn words((upstream, held): &Held) -> String {
    let workload = name::in_words(&held.workload);
    [&whose(upstream, &Pause::from(held)), ", ", &workload].concat()
}

/// `forced open`.
fn word(held: &ForcedBreaker) -> &'static str {
    breaker::word(&Breaker {
        state: held.state,
        reason: Some(BreakerReason::Forced),
        ..Breaker::default()
    })
}

/// The card; nothing where no breaker is held.
#[component]
pub fn ForcedBreakers(
    /// Those that are, the widest first.
    forced: Memo<Vec<Held>>,
) -> impl IntoView {
    let shown = move || {
        let shown = |all: &Vec<Held>| all.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>();
        forced.with(shown)
    };
    let more = move || {
        let text = left_out(forced.with(Vec::len), SHOWN_MAX)?;
        Some(view! { <p class="left-out">{text}</p> })
    };
    view! {
        <Show when=move || forced.with(|all| !all.is_empty())>
            <section class="card pauses" aria-label="Forced breakers">
                <div class="head">
                    <h2>"Breakers forced"</h2>
                    <Pill label=Signal::stored(Label::held("By an operator"))/>
                </div>
                <ul class="rows">
                    <For each=shown key=Held::clone let(held)>
                        <Row held=held/>
                    </For>
                </ul>
                {more}
                <p class="means">"Each is let go by itself; from then on it does what the upstream's answers say."</p>
            </section>
        </Show>
    }
    .erase()
}

#[component]
fn Row(held: Held) -> impl IntoView {
    let text = words(&held);
    let (upstream, held) = held;
    let label = ["Undo: ", &text].concat();
    view! {
        <li>
            <p>
                <b>{text}</b>
                " " {word(&held)} " until "
                <At at=Signal::stored(held.until.clone()) style=InWords/>
                {held.by.as_ref().map(by)}
            </p>
            <a class="end" href=forced_path(&upstream, &held) aria-label=label>"Undo"</a>
        </li>
    }
    .erase()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::state;
    use super::*;
    use crate::live::{BreakerState, Scope};

    fn held(scope: Scope, keys: [&str; 3], state: BreakerState) -> ForcedBreaker {
        let [app, tenant, user] = keys.map(str::to_owned);
        ForcedBreaker {
            workload: "onenote".to_owned(),
            scope,
            app,
            tenant,
            user,
            state,
            until: "2026-11-30T14:30:00.000Z".to_owned(),
            by: None,
        }
    }

    #[test]
    fn the_widest_come_first_in_words_and_with_their_page() {
        let mut state = state(vec![]);
        state.upstreams[0].forced = vec![
            held(Scope::User, ["a", "t", "c@b"], BreakerState::Closed),
            held(Scope::App, ["a", "", ""], BreakerState::Open),
        ];
        let all = all(&state);
        let said: Vec<_> = all.iter().map(|it| (words(it), word(&it.1))).collect();
        let expected = [
            ("All of the app a of graph, onenote", "forced open"),
            (
                "User c@b of graph (tenant t, app a), onenote",
                "forced closed",
            ),
        ];
        assert_eq!(said, expected.map(|(words, word)| (words.to_owned(), word)));
        assert_eq!(
            forced_path("graph", &all[1].1),
            "/operate/breaker?upstream=graph&workload=onenote&scope=user&app=a&tenant=t&user=c%40b"
        );
        assert_eq!(
            forced_path("graph", &all[0].1),
            "/operate/breaker?upstream=graph&workload=onenote&scope=app&app=a"
        );
    }
}
