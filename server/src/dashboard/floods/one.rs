//! The page of one list.

use axum::{
    extract::{Path, RawQuery, Request, State},
    response::Response,
};
use http::request::Parts;
use jiff::Timestamp;
use spillway::flood::ListKey;
use spillway_app::{
    Fate, FloodDeed, FloodOne, FloodPauseShown, ShownMessage, component_words, visible,
};

use super::{
    super::{Pages, alerts::fate, door::Fields},
    component, history, live, parts, second, unreadable, why_not,
};
use crate::{
    floods::Letter,
    store::{self, FloodEntry, FloodPause},
};

/// How many deeds a page shows.
const DEEDS_SHOWN: usize = 50;

/// How many letters a page shows.
const LETTERS_SHOWN: u32 = 20;

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 256;

pub(in crate::dashboard) async fn show(
    State(pages): State<Pages>,
    Path((site, list)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    of(&pages, ListKey { site, list }, query, request).await
}

/// The same for keys that browsers would take for a folder.
pub(in crate::dashboard) async fn show_asked(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let fields = Fields::in_address(query.as_deref());
    let key = ListKey::new(fields.get("site"), fields.get("list"));
    of(&pages, key, query, request).await
}

async fn of(pages: &Pages, key: ListKey, query: Option<String>, request: Request) -> Response {
    if !is_key(&key.site) || !is_key(&key.list) {
        return pages.nowhere(request).await;
    }
    let (head, _) = request.into_parts();
    let fields = Fields::in_address(query.as_deref());
    let is_part = fields.get("part") == "live";
    let before = fields.get("before").parse().ok();
    match page(pages, &head, &key, before, is_part).await {
        Ok(page) if is_part => parts(spillway_app::flood_list_live(&page)),
        Ok(mut page) => {
            page.told = pages.told(&head, query.as_deref());
            live(spillway_app::flood_list(&pages.options, page))
        }
        Err(error) => unreadable(&error),
    }
}

/// Whether it can be a site's or a list's.
pub(super) fn is_key(key: &str) -> bool {
    (1..=KEY_BYTES_MAX).contains(&key.len()) && !key.chars().any(char::is_control)
}

async fn page(
    pages: &Pages,
    head: &Parts,
    key: &ListKey,
    before: Option<i64>,
    is_part: bool,
) -> Result<FloodOne, store::Error> {
    let floods = pages.floods();
    let clock = pages.entrance.api.limiters().clock();
    let visitor = pages.visitor_of(head);
    let now = floods.list(&key.site, &key.list);
    let components = now.map(|it| it.components).unwrap_or_default();
    let pauses = floods.pauses(key).await?;
    let mut page = FloodOne {
        why_not: why_not(visitor.may_operate),
        visitor,
        as_of: second(clock.wall_now()),
        site: key.site.clone(),
        title: String::new(),
        url: String::new(),
        region: String::new(),
        time_zone: String::new(),
        admins: 0,
        list: key.list.clone(),
        components: components.iter().map(component).collect(),
        pauses: pauses.iter().map(|it| shown(it, clock)).collect(),
        figures: Vec::new(),
        notes: Vec::new(),
        deeds: Vec::new(),
        before,
        older: None,
        letters: Vec::new(),
        told: None,
    };
    if !is_part {
        add_past(pages, key, &mut page).await?;
    }
    Ok(page)
}

/// Adds what does not move.
async fn add_past(pages: &Pages, key: &ListKey, page: &mut FloodOne) -> Result<(), store::Error> {
    let floods = pages.floods();
    if let Some(site) = floods.site(&key.site).await? {
        page.title = site.title;
        page.url = site.url;
        page.region = site.region;
        page.time_zone = site.time_zone;
        page.admins = site.admins.len();
    }
    let asked = u32::try_from(DEEDS_SHOWN + 1).unwrap_or(u32::MAX);
    let mut deeds = floods.deeds(key, page.before, asked).await?;
    page.older = (deeds.len() > DEEDS_SHOWN)
        .then(|| deeds.get(DEEDS_SHOWN - 1).map(|it| it.seq))
        .flatten();
    deeds.truncate(DEEDS_SHOWN);
    let clock = pages.entrance.api.limiters().clock();
    page.deeds = deeds
        .into_iter()
        .map(|it| deed(it, |at| second(clock.timestamp(at))))
        .collect();
    let letters = floods.letters(key, LETTERS_SHOWN).await?;
    let now = clock.wall_now();
    page.letters = letters.into_iter().map(|it| letter(it, now)).collect();
    let days = floods.strike_days(key).await?;
    let today = floods.today(&key.site);
    let peaks = floods.day_peaks(key).await?;
    let drawn = [
        history::minutes(&floods.last_hour(key)),
        history::strikes(&days, today),
        history::peaks(&peaks, today),
    ];
    for figure in drawn {
        match figure {
            Ok(figure) => page.figures.push(figure),
            Err(error) => page.notes.push(error.to_string()),
        }
    }
    Ok(())
}

/// A pause as pages show it.
pub(super) fn shown(pause: &FloodPause, clock: &crate::clock::Clock) -> FloodPauseShown {
    FloodPauseShown {
        of_site: pause.list.is_empty(),
        since: second(clock.timestamp(pause.since)),
        until: second(clock.timestamp(pause.until)),
        who: pause.actor.clone(),
        reason: pause.reason.clone(),
    }
}

/// A letter as pages show it; what is due is tried as soon as whoever takes it is asked again.
fn letter(it: Letter, now: Timestamp) -> ShownMessage {
    let fate = fate(it.state, it.attempts);
    let at = match fate {
        Fate::Waiting | Fate::Delayed => it.next_at.map_or(now, |next| next.max(now)),
        _ => it.settled_at.unwrap_or(it.created_at),
    };
    ShownMessage {
        subject: it.subject,
        to: format!("mail to {}", visible(&it.to)),
        text: it.text,
        fate,
        created_at: second(it.created_at),
        at: second(at),
        attempts: it.attempts,
        error: it.error.unwrap_or_default(),
    }
}

fn deed(it: FloodEntry, at: impl Fn(spillway::Instant) -> String) -> FloodDeed {
    let of = if it.of_site {
        "The site was"
    } else {
        "The list was"
    };
    let component = it.component.map_or("", |it| component_words(it.name()));
    let what = match it.kind.as_str() {
        "strike" => format!(
            "{component} was disabled by the day's strike {}: {} events in its minute",
            it.number.unwrap_or(0),
            it.count.unwrap_or(0)
        ),
        "enable" => format!("{component} was re-enabled"),
        "pause" => format!("{of} paused"),
        _ => format!("{of} resumed"),
    };
    FloodDeed {
        at: at(it.at),
        what,
        who: it.actor.unwrap_or_default(),
        reason: it.reason.unwrap_or_default(),
        until: it.until.filter(|_| it.kind == "pause").map(at),
    }
}
