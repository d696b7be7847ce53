//! What is asked for.

use leptos::prelude::*;

use super::AuditFilters;
use crate::pages::AUDIT_PATH;

impl AuditFilters {
    pub(super) fn is_filtered(&self) -> bool {
        let typed = [
            &self.kind,
            &self.actor,
            &self.action,
            &self.subject,
            &self.from,
            &self.until,
        ];
        typed.iter().any(|text| !text.is_empty())
    }
}

/// The form; it is sent by `GET`, so that its fields stand in the address.
pub(super) fn form(filters: AuditFilters, wrong: Option<String>) -> impl IntoView {
    let all = filters
        .is_filtered()
        .then(|| view! { <a href=AUDIT_PATH>"All entries"</a> });
    let wrong = wrong.map(|wrong| view! { <p class="notice full" role="alert">{wrong}</p> });
    view! {
        {wrong}
        <form method="get" action=AUDIT_PATH class="filters card" role="search" aria-label="Filter entries">
            <label>
                "Who: name or id"
                <input type="text" name="actor" value=filters.actor maxlength="256" autocomplete="off"/>
            </label>
            <label>
                "Of the kind"
                <select name="actor_kind">
                    {option("", "any", &filters.kind)}
                    {filters.kinds.iter().map(|kind| option(kind, &kind.replace('_', " "), &filters.kind)).collect_view()}
                </select>
            </label>
            <label>
                "Did what"
                <select name="action">
                    {option("", "anything", &filters.action)}
                    {actions(&filters.actions, &filters.action)}
                </select>
            </label>
            <label>
                "To what"
                <input type="text" name="subject" value=filters.subject maxlength="1024" autocomplete="off" placeholder="policy:graph/onenote"/>
            </label>
            <label>
                "From (UTC)"
                <input type="datetime-local" name="from" value=filters.from/>
            </label>
            <label>
                "Until (UTC)"
                <input type="datetime-local" name="until" value=filters.until/>
            </label>
            <button type="submit" class="primary">"Show"</button>
            {all}
        </form>
    }
}

/// All acts of a kind, `account.`, before each of them.
fn actions(actions: &[&'static str], chosen: &str) -> impl IntoView + use<> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for action in actions {
        let group = action.split('.').next().unwrap_or(action);
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, of)) => of.push(action),
            None => groups.push((group, vec![action])),
        }
    }
    groups.sort_unstable();
    let mut options = Vec::new();
    for (group, mut of) in groups {
        let prefix = [group, "."].concat();
        options.push(option(&prefix, &["any ", group].concat(), chosen));
        of.sort_unstable();
        options.extend(of.iter().map(|action| option(action, action, chosen)));
    }
    options
}

fn option(value: &str, words: &str, chosen: &str) -> impl IntoView + use<> {
    let selected = value == chosen;
    let (value, words) = (value.to_owned(), words.to_owned());
    view! { <option value=value selected=selected>{words}</option> }
}
