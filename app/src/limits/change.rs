//! What differs between two versions, what to do when somebody else was first, and the way back.

use leptos::prelude::*;

use super::fields::{Typed, reason_field};
use super::history::{Made, made};

/// Something that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it is of, in words.
    pub what: String,
    /// What it was; `None`: it was not there.
    pub from: Option<String>,
    /// What it is; `None`: it is gone.
    pub to: Option<String>,
}

/// Somebody else saved meanwhile.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The version that both began with.
    pub base: i64,
    /// What they saved.
    pub theirs: Made,
    /// What they changed of that version.
    pub their_changes: Vec<Change>,
    /// What is changed of it here.
    pub own_changes: Vec<Change>,
    /// Names the limits that change it so, so that others are not saved unseen.
    pub own: String,
}

/// An old version that is to be in force again.
#[derive(Clone, Debug)]
pub struct Rollback {
    /// Which.
    pub made: Made,
    /// What would change of what is in force now.
    pub changes: Vec<Change>,
    /// The version that is the newest now.
    pub base: i64,
    /// Why.
    pub reason: Typed,
}

/// One line for each.
pub(super) fn changes(all: Vec<Change>) -> impl IntoView {
    if all.is_empty() {
        return view! { <p class="means">"Nothing changes."</p> }.into_any();
    }
    let lines = all.into_iter().map(change).collect_view();
    view! { <ul class="changes">{lines}</ul> }.into_any()
}

fn change(change: Change) -> AnyView {
    let (class, word) = match (&change.from, &change.to) {
        (None, _) => ("added", "new: "),
        (_, None) => ("gone", "gone: "),
        _ => ("", ""),
    };
    let from = change.from.map(|from| view! { <del>{from}</del> " " });
    let to = change.to.map(|to| view! { <ins>{to}</ins> });
    view! {
        <li class=class>
            <span>{word} <bdi>{change.what}</bdi></span>
            " "
            {from}
            {to}
        </li>
    }
    .into_any()
}

/// Both sides, and the way to save nevertheless, which needs a mark to be set first: it cannot be
/// pressed by whoever presses "Apply" twice.
pub(crate) fn conflict(conflict: Conflict, path: String) -> AnyView {
    let (base, version) = (conflict.base, conflict.theirs.version);
    view! {
        <section class="card conflict" aria-labelledby="conflict">
            <div class="head">
                <h2 id="conflict">"Somebody else saved meanwhile"</h2>
            </div>
            {made(conflict.theirs)}
            <div class="sides">
                <div>
                    <h3>{format!("Theirs: what changed since version {base}")}</h3>
                    {changes(conflict.their_changes)}
                </div>
                <div>
                    <h3>{format!("Yours: what you change of version {base}")}</h3>
                    {changes(conflict.own_changes)}
                </div>
            </div>
            <p>
                "Nothing of yours is saved. "
                <a href=path>"Begin again with theirs"</a>
                ", or save yours: what they changed is then as you have it below."
            </p>
            <input type="hidden" name="over" value=version form="edit"/>
            <label class="mark">
                <input type="checkbox" name="seen" value="yes" form="edit"/>
                "I have seen their change and replace it"
            </label>
            <button type="submit" class="grave" name="do" value="overwrite" form="edit">
                "Save mine over theirs"
            </button>
        </section>
    }
    .into_any()
}

/// What a rollback changes, and the button that does it.
pub(crate) fn rollback(back: Rollback, path: &str) -> AnyView {
    let version = back.made.version;
    let action = format!("{path}/rollback");
    let other = path.to_owned();
    view! {
        <section class="card" aria-labelledby="rollback">
            <div class="head">
                <h2 id="rollback">{format!("Roll back to version {version}")}</h2>
            </div>
            {made(back.made)}
            <h3>{format!("What changes of version {}, the newest", back.base)}</h3>
            {changes(back.changes)}
            <form method="post" action=action class="fields">
                <input type="hidden" name="version" value=version/>
                <input type="hidden" name="base" value=back.base/>
                {reason_field("back-reason", back.reason, false)}
                <p class="actions">
                    <button type="submit" class="primary">
                        {format!("Put version {version} in force again")}
                    </button>
                    <a href=other>"Leave it"</a>
                </p>
            </form>
        </section>
    }
    .into_any()
}
