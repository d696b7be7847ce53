//! Pauses of background calls that are in force: whose, until when, and a way to end them early.

mod end;
mod wording;

use leptos::prelude::*;

use crate::erase::Erase;
use crate::feed::Feed;
use crate::instant;
use crate::live::{Pause, SetBy};
use crate::overview::name;
use crate::overview::pill::{Label, Pill};
use crate::time::{At, InWords};
use end::EndEarly;
pub use wording::{left_out, whose};

/// How many are listed: the widest, which stop most.
const SHOWN_MAX: usize = 8;

/// A pause, and the upstream that it is of.
pub type Paused = (String, Pause);

/// The card; nothing where no pause is in force.
#[component]
pub fn Pauses(
    /// Those in force, the widest of each upstream first.
    pauses: Memo<Vec<Paused>>,
) -> impl IntoView {
    let shown = move || {
        let shown = |all: &Vec<Paused>| all.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>();
        pauses.with(shown)
    };
    let more = move || {
        let text = left_out(pauses.with(Vec::len), SHOWN_MAX)?;
        Some(view! { <p class="left-out">{text}</p> })
    };
    view! {
        <Show when=move || pauses.with(|all| !all.is_empty())>
            <section class="card pauses" aria-label="Pauses">
                <div class="head">
                    <h2>"Background calls paused"</h2>
                    <Pill label=Signal::stored(Label::held("By an operator"))/>
                </div>
                <ul class="rows">
                    <For each=shown key=Paused::clone let(paused)>
                        <Row paused=paused/>
                    </For>
                </ul>
                {more}
                <p class="means">"Running calls end as usual, foreground calls go on. Each pause ends by itself."</p>
            </section>
        </Show>
    }
    .erase()
}

/// Who paused them, and why.
pub fn by(by: &SetBy) -> impl IntoView + use<> {
    let (who, reason) = (name::visible(&by.who), name::visible(&by.reason));
    view! {
        <small class="by">
            "by " <bdi>{who}</bdi> ": " <q><bdi>{reason}</bdi></q>
        </small>
    }
}

#[component]
fn Row(paused: Paused) -> impl IntoView {
    let clock_ms = Feed::expect().clock_ms;
    let (upstream, pause) = paused;
    let text = whose(&upstream, &pause);
    let until = pause.until.clone();
    let left = Memo::new(move |_| {
        instant::ms_until(clock_ms.get(), &until)
            .map(instant::wait)
            .unwrap_or_default()
    });
    view! {
        <li>
            <p>
                <b>{text.clone()}</b>
                " until "
                <At at=Signal::stored(pause.until.clone()) style=InWords/>
                <small class="left">"another " {move || left.get()}</small>
                {pause.by.as_ref().map(by)}
            </p>
            <EndEarly upstream=upstream pause=pause whose=text/>
        </li>
    }
    .erase()
}
