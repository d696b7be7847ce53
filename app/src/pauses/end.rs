//! The way to end a pause early: a reason, then the button.
//!
//! What is asked is the API's own resumption, so the server decides who may, and its words
//! are shown where it refuses. The pause leaves the page with the next values.

use leptos::either::Either;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;

use crate::erase::Erase;
use crate::feed::Feed;
use crate::live::Pause;
use crate::pages::background_path;

/// The longest reason that the API takes, in characters.
const REASON_CHARS_MAX: &str = "500";

/// The way, or why there is none for who looks.
#[component]
pub fn EndEarly(upstream: String, pause: Pause, whose: String) -> impl IntoView {
    let may = Feed::expect().visitor.with_value(|it| it.may_operate);
    let way = match may {
        true => Either::Left(view! { <Form upstream=upstream pause=pause whose=whose/> }),
        false => Either::Right(view! {
            <p class="end">
                <button type="button" disabled>"End early"</button>
                <small>"Takes the role operator"</small>
            </p>
        }),
    };
    way.erase()
}

/// Opens below its own line, so that no second click meets the button by chance. Until the page
/// runs, and where it never does, a link leads to a page with the same form.
#[component]
fn Form(upstream: String, pause: Pause, whose: String) -> impl IntoView {
    let mounted = Feed::expect().mounted;
    let reason = RwSignal::new(String::new());
    let busy = RwSignal::new(false);
    let said = RwSignal::new(String::new());
    let path = background_path(&upstream, &pause);
    let pause = StoredValue::new((upstream, pause));
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if !busy.get_untracked() {
            busy.set(true);
            pause.with_value(|(upstream, pause)| ask(upstream, pause, reason, busy, said));
        }
    };
    // Who speaks to the page says what stands there: the name begins with it.
    let label = ["End early: ", &whose].concat();
    view! {
        <a class="end" class:gone=move || mounted.get() href=path aria-label=label.clone()>
            "End early"
        </a>
        <details class="end" class:gone=move || !mounted.get()>
            <summary aria-label=label>"End early"</summary>
            <form on:submit=submit>
                <label>
                    "Reason, for the log"
                    <input
                        type="text"
                        required
                        maxlength=REASON_CHARS_MAX
                        autocomplete="off"
                        on:input=move |event| reason.set(event_target_value(&event))
                    />
                </label>
                <button type="submit" disabled=move || busy.get()>"Let them go on"</button>
                <p role="status">{move || said.get()}</p>
            </form>
        </details>
    }
    .erase()
}

#[cfg(feature = "hydrate")]
fn ask(
    upstream: &str,
    pause: &Pause,
    reason: RwSignal<String>,
    busy: RwSignal<bool>,
    said: RwSignal<String>,
) {
    let question = browser::question(upstream, pause, &reason.get_untracked());
    leptos::task::spawn_local(async move {
        let answer = browser::answer(question).await;
        // The pause may have left the page meanwhile, and this with it.
        let _ = busy.try_set(false);
        let _ = said.try_set(answer);
    });
}

#[cfg(not(feature = "hydrate"))]
fn ask(_: &str, _: &Pause, _: RwSignal<String>, _: RwSignal<bool>, _: RwSignal<String>) {}

#[cfg(feature = "hydrate")]
mod browser {
    use js_sys::{JSON, Object, Reflect};
    use leptos::prelude::window;
    use wasm_bindgen::{JsCast, JsValue};
    use wasm_bindgen_futures::JsFuture;
    use web_sys::{AbortSignal, RequestInit, Response};

    use crate::connection::STALE_AFTER_MS;
    use crate::live::{Json, Pause, PauseScope};
    use crate::pages::resume_path;

    const UNANSWERED: &str = "Spillway did not answer; try again.";

    /// Where to ask, and what.
    pub fn question(
        upstream: &str,
        pause: &Pause,
        reason: &str,
    ) -> Result<(String, RequestInit), JsValue> {
        let keys = [
            ("app", &pause.app, PauseScope::App),
            ("tenant", &pause.tenant, PauseScope::Tenant),
            ("user", &pause.user, PauseScope::User),
        ];
        let body = Object::new();
        set(&body, "scope", pause.scope.name())?;
        set(&body, "reason", reason)?;
        for (name, key, from) in keys {
            if pause.scope >= from {
                set(&body, name, key)?;
            }
        }
        let headers = Object::new();
        set(&headers, "content-type", "application/json")?;
        let options = RequestInit::new();
        options.set_method("POST");
        options.set_headers(&headers);
        options.set_body(&JSON::stringify(&body)?.into());
        options.set_signal(Some(&AbortSignal::timeout_with_u32(STALE_AFTER_MS as u32)));
        Ok((resume_path(upstream), options))
    }

    /// What is to be said of the answer.
    pub async fn answer(question: Result<(String, RequestInit), JsValue>) -> String {
        ask(question)
            .await
            .unwrap_or_else(|_| UNANSWERED.to_owned())
    }

    async fn ask(question: Result<(String, RequestInit), JsValue>) -> Result<String, JsValue> {
        let (url, options) = question?;
        let response = JsFuture::from(window().fetch_with_str_and_init(&url, &options)).await?;
        let response: Response = response.dyn_into()?;
        if response.ok() {
            return Ok("They go on.".to_owned());
        }
        let problem = JSON::parse(
            &JsFuture::from(response.text()?)
                .await?
                .as_string()
                .unwrap_or_default(),
        )?;
        let text = |name| problem.member(name).and_then(|it| it.text());
        Ok(text("detail")
            .or_else(|| text("title"))
            .unwrap_or_else(|| UNANSWERED.to_owned()))
    }

    fn set(object: &Object, name: &str, value: &str) -> Result<bool, JsValue> {
        Reflect::set(object, &name.into(), &value.into())
    }
}
