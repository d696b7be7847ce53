//! Instants on the page: UTC from the server, the local time added by the browser.

use leptos::prelude::*;

use crate::feed::Feed;
use crate::instant;

/// How an instant is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Within a sentence: `14:14:06 UTC (15:14:06 local)`.
    InWords,
    /// With the local time in small print behind it.
    Apart,
}

pub use Style::{Apart, InWords};

/// An instant as `<time>`. The server knows no reader's time zone, so the local time
/// appears once the page runs, and only where it differs.
#[component]
pub fn At(
    /// RFC 3339 in UTC; nothing is shown for an empty one.
    #[prop(into)]
    at: Signal<String>,
    /// How to write it.
    style: Style,
) -> impl IntoView {
    let mounted = Feed::expect().mounted;
    let utc = move || {
        at.with(|at| match at.as_str() {
            "" => String::new(),
            at => format!("{} UTC", instant::time_of_day(at)),
        })
    };
    let local = Memo::new(move |_| {
        let local = mounted
            .get()
            .then(|| at.with(|at| local_time(at)))
            .flatten()?;
        Some(match style {
            InWords => format!(" ({local} local)"),
            Apart => format!("{local} local"),
        })
    });
    let local = move || {
        local
            .get()
            .map(|local| view! { <small class="local">{local}</small> })
    };
    view! {
        <time datetime=move || at.get()>{utc}</time>
        {local}
    }
}

/// The time of day where the reader is, if it is another than UTC's.
#[cfg(feature = "hydrate")]
fn local_time(at: &str) -> Option<String> {
    let ms = instant::unix_ms(at)?;
    let date = js_sys::Date::new(&wasm_bindgen::JsValue::from_f64(ms as f64));
    if date.get_timezone_offset() == 0.0 {
        return None;
    }
    let (hour, minute, second) = (date.get_hours(), date.get_minutes(), date.get_seconds());
    Some(format!("{hour:02}:{minute:02}:{second:02}"))
}

#[cfg(not(feature = "hydrate"))]
fn local_time(_at: &str) -> Option<String> {
    None
}
