//! The page of a site's admin, by the link of a mail: looking changes nothing, forms re-enable,
//! pause and resume lists of that site alone, under the address that the link names.
//!
//! Scanners open links before people do, so that whatever asks by GET or HEAD is only shown
//! something. The key of the link goes in the query of an address and in forms, which nothing
//! logs or traces.

mod shown;

use std::time::{Duration, Instant};

use axum::{
    Router,
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{HeaderName, HeaderValue, StatusCode, header, request::Parts};
use jiff::Timestamp;
use spillway::flood::{Component, ListKey};
use spillway_app::{DOOR_POLICY, Door, Told, Undo, site_path};

use super::{
    Pages, document,
    door::{Fields, sentence},
    told::Sender,
};
use crate::{
    access::{NotLetIn, SiteLink, SiteLinks},
    audit::{self, Actor, ActorKind, By},
    floods::{Floods, NotOperated, Site, Whose},
    http::{Problem, see_other},
};

/// The longest pause, as by the API: 31 days.
const PAUSE_MINUTES_MAX: u64 = 31 * 24 * 60;

/// The lists of sites, and the links by which their admins come.
#[derive(Clone, Debug)]
pub struct Sites {
    /// What counts and disables.
    pub floods: Floods,
    /// What the links say.
    pub links: SiteLinks,
    /// Whether browsers say which page asks, beside where it is from: by TLS, and on this machine.
    pub is_trustworthy: bool,
}

/// A site's admin, by a link that is good.
struct Holder {
    key: String,
    link: SiteLink,
    site: Site,
}

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/site", get(show))
        .route("/site/enable", post(enable))
        .route("/site/pause", post(pause))
        .route("/site/resume", post(resume))
}

async fn show(State(pages): State<Pages>, RawQuery(query): RawQuery, request: Request) -> Response {
    let fields = Fields::in_address(query.as_deref());
    let holder = match pages.holder(&fields).await {
        Ok(holder) => holder,
        Err(refused) => return pages.private(refused),
    };
    let (parts, _) = request.into_parts();
    let outbox = &pages.desk.outbox;
    let told = outbox.take(query.as_deref(), &Sender::of(&parts), Instant::now());
    let page = pages.site_page(&holder, list(&fields), told).await;
    pages.private(page)
}

async fn enable(State(pages): State<Pages>, request: Request) -> Response {
    pages.site_act(request, Act::Enable).await
}

async fn pause(State(pages): State<Pages>, request: Request) -> Response {
    pages.site_act(request, Act::Pause).await
}

async fn resume(State(pages): State<Pages>, request: Request) -> Response {
    pages.site_act(request, Act::Resume).await
}

/// What a form asks for.
#[derive(Clone, Copy)]
enum Act {
    Enable,
    Pause,
    Resume,
}

/// The list's key as it is: blanks belong to it.
fn list(fields: &Fields) -> &str {
    fields.all("list").next().unwrap_or_default()
}

impl Pages {
    /// Who comes by the link whose key is in these fields.
    async fn holder(&self, fields: &Fields) -> Result<Holder, Response> {
        let key = fields.get("key");
        let now_ms = Timestamp::now().as_millisecond();
        let link = self.entrance.sites.links.read(key, now_ms);
        let link = link.map_err(|not| self.not_let_in(not))?;
        let site = self.entrance.sites.floods.site(&link.site).await;
        let site = site.map_err(|error| {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "the page of a site's admin");
            storage()
        })?;
        let site = site.filter(|site| site.admins.contains(&link.address));
        let site = site.ok_or_else(|| {
            let text = "The address that this link was sent to is no admin's of the site any more.";
            self.site_closed(StatusCode::GONE, "This link is void", text.to_owned())
        })?;
        Ok(Holder {
            key: key.to_owned(),
            link,
            site,
        })
    }

    fn not_let_in(&self, not: NotLetIn) -> Response {
        let (status, title) = match not {
            NotLetIn::Unknown => (StatusCode::NOT_FOUND, "No such link"),
            NotLetIn::Expired => (StatusCode::GONE, "This link has expired"),
        };
        self.site_closed(status, title, sentence(&not))
    }

    fn site_closed(&self, status: StatusCode, title: &str, text: String) -> Response {
        let title = title.to_owned();
        self.door(status, Door::Closed { title, text })
    }

    async fn site_act(&self, request: Request, act: Act) -> Response {
        let (parts, fields) = match Fields::in_form(request).await {
            Ok(form) => form,
            Err(problem) => return self.private(problem.into_response()),
        };
        let holder = match self.holder(&fields).await {
            Ok(holder) => holder,
            Err(refused) => return self.private(refused),
        };
        let told = match self.site_done(&parts, &holder, &fields, act).await {
            Ok(done) => Told {
                undo: undo(act, &holder.key, list(&fields)),
                ..Told::done(done)
            },
            Err(wrong) => Told::wrong(wrong),
        };
        let path = site_path(&holder.key, list(&fields));
        let outbox = &self.desk.outbox;
        let to = outbox.lead(&path, Sender::of(&parts), told, Instant::now());
        self.private(see_other(&to))
    }

    /// Does what a form asks for; what is said of it.
    async fn site_done(
        &self,
        parts: &Parts,
        holder: &Holder,
        fields: &Fields,
        act: Act,
    ) -> Result<String, String> {
        let floods = &self.entrance.sites.floods;
        let by = By {
            actor: Actor::named(ActorKind::SiteAdmin, "", &holder.link.address),
            ..self.entrance.trail.by(parts)
        };
        let by = because(by, fields.get("reason"), matches!(act, Act::Pause))?;
        let key = ListKey::new(&holder.site.site, list(fields));
        // Only lists on which something is remembered: nobody can make others up.
        let known = floods.list(&key.site, &key.list).is_some();
        let known = known
            .then_some(())
            .ok_or("There is no such list to be seen to.");
        known?;
        let whose = Whose::List(key.clone());
        let not = |not: NotOperated| sentence(&not);
        Ok(match act {
            Act::Enable => {
                let component = component(fields.get("component"))?;
                floods.enable(&key, component, &by).await.map_err(not)?;
                let component = component.name();
                format!("{component} is re-enabled: its events are handled again.")
            }
            Act::Pause => {
                let lasts = lasts(fields.get("minutes"))?;
                let paused = floods.pause(&whose, lasts, &by).await.map_err(not)?;
                let until = self.site_when(&holder.site).to_minute(paused.until);
                format!("The list is paused until {until}.")
            }
            Act::Resume => {
                floods.resume(&whose, &by).await.map_err(not)?;
                "The list is resumed: its events are counted again.".to_owned()
            }
        })
    }

    /// An answer that nobody keeps, indexes or passes on: its address lets its reader in.
    fn private(&self, mut answer: Response) -> Response {
        let headers = answer.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let robots = HeaderName::from_static("x-robots-tag");
        headers.insert(robots, HeaderValue::from_static("noindex"));
        // Without a referrer browsers say of a form that it comes from nowhere. Where they also
        // say nothing of the site that asks, the origin alone tells our forms from others.
        let policy = match self.entrance.sites.is_trustworthy {
            true => "no-referrer",
            false => "strict-origin",
        };
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(policy));
        answer
    }

    fn site_document(&self, page: spillway_app::SitePage) -> Response {
        let page = spillway_app::site(&self.options, page);
        document(StatusCode::OK, DOOR_POLICY, page)
    }
}

/// The form that takes it back, where that can be: of a pause, its end.
fn undo(act: Act, key: &str, list: &str) -> Option<Undo> {
    matches!(act, Act::Pause).then(|| Undo {
        action: "/site/resume".to_owned(),
        fields: vec![("key", key.to_owned()), ("list", list.to_owned())],
        word: "Undo".to_owned(),
    })
}

/// Why, as somebody said or had to.
fn because(by: By, reason: &str, required: bool) -> Result<By, String> {
    if reason.is_empty() && !required {
        return Ok(by);
    }
    let reason = audit::reason(reason).map_err(|no| sentence(&no))?;
    Ok(by.because(reason))
}

fn component(name: &str) -> Result<Component, String> {
    let mut all = Component::ALL.into_iter();
    let found = all.find(|component| component.name() == name);
    found.ok_or_else(|| "There is no component of this name.".to_owned())
}

fn lasts(minutes: &str) -> Result<Duration, String> {
    let minutes = minutes.parse().ok();
    let minutes = minutes.filter(|minutes| (1..=PAUSE_MINUTES_MAX).contains(minutes));
    let minutes = minutes.ok_or("A pause lasts from a minute to 31 days.")?;
    Ok(Duration::from_secs(minutes * 60))
}

fn storage() -> Response {
    let title = "The site cannot be read now";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_from_a_minute_to_31_days() {
        assert_eq!(lasts("1"), Ok(Duration::from_secs(60)));
        assert_eq!(lasts("44640"), Ok(Duration::from_secs(31 * 86_400)));
        for minutes in ["", "0", "-1", "44641", "many", "1.5"] {
            assert!(lasts(minutes).is_err(), "{minutes}");
        }
    }

    #[test]
    fn a_pause_takes_a_reason_and_the_rest_may_have_one() {
        let by = || By::actor(Actor::anyone());
        assert!(because(by(), "", true).is_err());
        assert_eq!(because(by(), "", false).unwrap().reason, None);
        let said = because(by(), "import", false).unwrap().reason;
        assert_eq!(said.as_deref(), Some("import"));
        assert!(because(by(), "a\nb", false).is_err());
    }
}
