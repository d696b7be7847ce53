//! What the forms have in common.

use leptos::prelude::*;

use super::{Sent, Target, to_second};
use crate::erase::Erase as _;
use crate::live::SetBy;
use crate::overview::name;
use crate::plain::instant;

/// Who did it, why and when.
pub(super) fn by(by: SetBy) -> impl IntoView {
    view! {
        <small class="by">
            "by " <bdi>{name::visible(&by.who)}</bdi> " since " {instant(to_second(&by.at))} ": "
            <q><bdi>{name::visible(&by.reason)}</bdi></q>
        </small>
    }
    .erase()
}

/// Whom it concerns.
pub(super) fn keys() -> impl IntoView {
    view! {
        <div class="pair">
            {key("App", "app")} {key("Tenant", "tenant")} {key("User", "user")}
        </div>
        <p class="means">"Leave empty what is not meant: with a user it concerns that user alone, with none of them everybody."</p>
    }
    .erase()
}

fn key(words: &'static str, name: &'static str) -> impl IntoView {
    view! {
        <label>
            {words}
            <input type="text" name=name maxlength="256" autocomplete="off" autocapitalize="none" spellcheck="false"/>
        </label>
    }
    .erase()
}

/// What says again whom a form concerns.
pub(super) fn hidden(target: &Target) -> impl IntoView + use<> {
    let fields = target.fields().into_iter();
    fields
        .map(|(name, value)| view! { <input type="hidden" name=name value=value/> })
        .collect_view()
}

/// Why, for the log.
pub(crate) fn reason(typed: &str, disabled: bool) -> impl IntoView + use<> {
    let typed = typed.to_owned();
    view! {
        <label>
            "Reason, for the log"
            <input type="text" name="reason" value=typed required maxlength="500" autocomplete="off" disabled=disabled/>
        </label>
    }
    .erase()
}

/// For how long: offered lengths, in minutes, or an instant.
pub(crate) fn lasting(
    offered: &'static [(&'static str, &'static str)],
    sent: &Sent,
    disabled: bool,
) -> impl IntoView + use<> {
    let lengths = offered.iter().map(|(minutes, words)| {
        view! { <option value=*minutes selected=sent.minutes == *minutes>{*words}</option> }
    });
    let until = sent.until.clone();
    view! {
        <div class="pair">
            <label>
                "For"
                <select name="minutes" disabled=disabled>{lengths.collect_view()}</select>
            </label>
            <label>
                "Or until (UTC)"
                <input type="datetime-local" name="until" value=until disabled=disabled/>
            </label>
        </div>
    }
    .erase()
}

/// Why nothing can be changed here, if so.
pub(crate) fn why_not(why_not: &str) -> impl IntoView + use<> {
    let why_not = why_not.to_owned();
    (!why_not.is_empty()).then(|| view! { <p class="means">{why_not}</p> })
}
