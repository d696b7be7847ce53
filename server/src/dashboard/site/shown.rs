//! What the page of a site's admin shows: who did something is told by their role, unless it was
//! an admin of the site, for other people's names are not the site's business.

use axum::response::Response;
use jiff::Timestamp;
use spillway::flood::ListKey;
use spillway_app::{Moment, OtherList, SiteComponent, SiteEntry, SiteList, SitePage, Told};

use super::{Holder, storage};
use crate::{
    access::SiteLink,
    audit::ActorKind,
    dashboard::Pages,
    floods::{ComponentState, ListState, Site, When},
    store::{self, FloodEntry},
};

/// The most of a list's history that is shown.
const HISTORY_MAX: u32 = 100;

/// The most other lists that are shown.
const OTHERS_MAX: usize = 50;

impl Pages {
    /// How the site's people say when.
    pub(super) fn site_when(&self, site: &Site) -> When {
        When::of(&site.time_zone)
    }

    /// The page of a list, for this holder of a link.
    pub(super) async fn site_page(
        &self,
        holder: &Holder,
        list: &str,
        told: Option<Told>,
    ) -> Response {
        let now = Timestamp::now();
        let when = self.site_when(&holder.site);
        let lists = self.entrance.sites.floods.lists(&holder.site.site);
        let Ok(shown) = self.site_list(holder, list, &lists, &when).await else {
            return storage();
        };
        let others: Vec<_> = lists.iter().filter(|it| it.list != list).collect();
        let page = SitePage {
            key: holder.key.clone(),
            title: title(&holder.site),
            url: holder.site.url.clone(),
            address: holder.link.address.clone(),
            expires: moment(&when, expires(&holder.link)),
            as_of: to_second(&when, now),
            site_paused: lists
                .iter()
                .find_map(|it| it.site_paused_until)
                .map(|at| moment(&when, at)),
            list: shown,
            more: others.len().saturating_sub(OTHERS_MAX),
            others: others.into_iter().take(OTHERS_MAX).map(other).collect(),
            told,
        };
        self.site_document(page)
    }

    /// The list of this key with what happened to it; none where nothing is remembered of it.
    async fn site_list(
        &self,
        holder: &Holder,
        list: &str,
        lists: &[ListState],
        when: &When,
    ) -> Result<Option<SiteList>, store::Error> {
        let floods = &self.entrance.sites.floods;
        let key = ListKey::new(&holder.site.site, list);
        let history = floods.history(&key, HISTORY_MAX).await?;
        let state = lists.iter().find(|it| it.list == list);
        // Pauses of the whole site are in each list's history, in that of none, too.
        if state.is_none() && (list.is_empty() || history.is_empty()) {
            return Ok(None);
        }
        let day_ends = floods.day_ends(&holder.site.site);
        let components = state.iter().flat_map(|state| &state.components);
        let timestamp = |at| floods.timestamp(at);
        Ok(Some(SiteList {
            list: list.to_owned(),
            paused: state
                .and_then(|state| state.paused_until)
                .map(|at| moment(when, at)),
            components: components.map(|it| component(it, when, day_ends)).collect(),
            history: history
                .iter()
                .map(|it| entry(it, when, timestamp))
                .collect(),
        }))
    }
}

fn title(site: &Site) -> String {
    match site.title.trim().is_empty() {
        true => site.site.clone(),
        false => site.title.clone(),
    }
}

fn expires(link: &SiteLink) -> Timestamp {
    Timestamp::from_millisecond(link.expires_at_ms).unwrap_or(Timestamp::MAX)
}

fn moment(when: &When, at: Timestamp) -> Moment {
    Moment {
        at: format!("{at:.0}"),
        words: when.to_minute(at),
    }
}

fn to_second(when: &When, at: Timestamp) -> Moment {
    Moment {
        at: format!("{at:.0}"),
        words: when.to_second(at),
    }
}

fn component(it: &ComponentState, when: &When, day_ends: Timestamp) -> SiteComponent {
    SiteComponent {
        component: it.component.name(),
        count: it.count,
        per_minute: it.policy.per_minute(),
        strikes: it.strikes,
        strikes_per_day: it.policy.strikes_per_day(),
        stopping: it.stopping,
        disabled: it.disabled_since.map(|at| to_second(when, at)),
        day_ends: moment(when, day_ends),
    }
}

fn other(list: &ListState) -> OtherList {
    let components = list.components.iter();
    let disabled = components.filter(|it| it.disabled_since.is_some());
    OtherList {
        list: list.list.clone(),
        disabled: disabled.map(|it| it.component.name()).collect(),
        stopping: list.components.iter().any(|it| it.stopping),
        paused: list.paused_until.is_some(),
    }
}

fn entry(
    it: &FloodEntry,
    when: &When,
    timestamp: impl Fn(spillway::Instant) -> Timestamp,
) -> SiteEntry {
    let until = it.until.map(|until| when.to_minute(timestamp(until)));
    SiteEntry {
        at: to_second(when, timestamp(it.at)),
        what: what(it, until.as_deref()),
        who: who(it.actor.as_deref()),
        why: it.reason.clone().unwrap_or_default(),
    }
}

fn what(it: &FloodEntry, until: Option<&str>) -> String {
    let component = it.component.map_or("", |component| component.name());
    let (number, count) = (it.number.unwrap_or(0), it.count.unwrap_or(0));
    match (it.kind.as_str(), it.disables) {
        ("strike", true) => {
            format!("{component} disabled: strike {number} of the day, a minute of {count} events")
        }
        ("strike", false) => format!("{component}: strike {number} of the day"),
        ("enable", _) => format!("{component} re-enabled"),
        ("pause", _) => format!("Paused until {}", until.unwrap_or("further notice")),
        _ => "Resumed".to_owned(),
    }
}

/// `site_admin ann@example.org` as people say it.
fn who(actor: Option<&str>) -> String {
    let Some(actor) = actor else {
        return "Spillway".to_owned();
    };
    let (kind, name) = actor.split_once(' ').unwrap_or((actor, ""));
    let kinds = ActorKind::ALL.into_iter();
    match kinds.into_iter().find(|it| it.name() == kind) {
        Some(ActorKind::SiteAdmin) => name.to_owned(),
        Some(ActorKind::Token) => "a program".to_owned(),
        Some(ActorKind::System) => "Spillway".to_owned(),
        _ => "an operator".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_than_the_site_s_admins_are_not_told() {
        for (actor, said) in [
            (None, "Spillway"),
            (Some("site_admin ann@example.org"), "ann@example.org"),
            (Some("account ada (0123456789abcdef)"), "an operator"),
            (Some("token bridge (0123456789abcdef)"), "a program"),
            (Some("anyone"), "an operator"),
            (Some("system spillway"), "Spillway"),
        ] {
            assert_eq!(who(actor), said);
        }
    }
}
