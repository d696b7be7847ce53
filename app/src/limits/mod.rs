//! The pages on which limits are looked at and changed: a list of all workloads, and an editor
//! for one of them.
//!
//! Plain documents with plain forms, rendered by the server alone: what is typed goes there, and
//! comes back with what is wrong beside its field. Whatever somebody typed is kept.

mod change;
mod editor;
mod fields;
mod history;
mod list;
mod trial;

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::door::Said;
use crate::overview::{name, wording::workload_title};
use crate::pages::Page;
use crate::plain::{Plain, document};
use crate::visitor::Visitor;

pub use change::{Change, Conflict, Rollback};
pub(crate) use change::{conflict, rollback};
pub use editor::Editor;
pub(crate) use fields::reason_field;
pub use fields::{Draft, LayerDraft, NumberField, OwnDraft, Typed};
pub use history::{History, Made, Past};
pub(crate) use history::{history, made};
pub use list::{Limited, LimitsList};
pub use trial::{Lane, Trial};

/// The list of all workloads as a document.
#[must_use]
pub fn limits_list(options: &LeptosOptions, list: LimitsList) -> String {
    let beside = "What each workload may use of its upstream".to_owned();
    let plain = plain(list.visitor.clone(), "Limits".to_owned(), beside);
    document(options, plain, || list::page(list))
}

/// The editor of one workload's limits as a document.
#[must_use]
pub fn limits_editor(options: &LeptosOptions, editor: Editor) -> String {
    let workload = name::in_words(workload_title(&editor.workload));
    let title = [
        "Limits of ",
        &name::in_words(&editor.upstream),
        ", ",
        &workload,
    ]
    .concat();
    let state = match editor.in_force {
        true => "in force",
        false => "not in force yet",
    };
    let beside = format!("Version {}, {state}", editor.newest.version);
    let plain = plain(editor.visitor.clone(), title, beside);
    document(options, plain, || editor::page(editor))
}

fn plain(visitor: Visitor, title: String, beside: String) -> Plain {
    Plain {
        page: Page::Limits,
        visitor,
        title,
        beside,
        class: "limits",
        told: None,
    }
}

/// What is said above a page, if anything is.
pub(crate) fn notices(said: Vec<Said>) -> AnyView {
    let said = said.into_iter().map(crate::door::notice);
    said.collect_view().into_any()
}
