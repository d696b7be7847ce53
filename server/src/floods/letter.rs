//! What the admins of a site are told when a component is disabled on one of its lists: pure. One
//! letter for each of them, since each holds a link of its own.
//!
//! A letter is written down without the link: that is written into it while it is sent
//! ([`Linked`]), so that neither the database nor whoever reads there what a letter said can act
//! in its reader's name.

mod linked;
mod when;

use jiff::Timestamp;
use spillway::flood::Policy;
use spillway_app::{FloodFact, FloodNotice, flood_notice};

use super::Site;
use crate::{
    access::site_link::LASTS_MS,
    alerts::{SUBJECT_CHARS_MAX, cut, shown},
    store::{Kind, MessageState, NewMessage, Strike},
};
pub use linked::Linked;
pub(crate) use linked::without_link;
use linked::{Concerns, LINK};
pub use when::When;

/// What these messages are about.
pub const TOPIC: &str = "floods";

/// What a strike that disables says to people beside its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disabling {
    /// What was endured.
    pub policy: Policy,
    /// The beginning of the minute that reached the threshold.
    pub minute_at: Timestamp,
    /// The end of its day.
    pub day_ends_at: Timestamp,
}

/// A letter as people may read it who did not get it, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Which component was disabled.
    pub component: spillway::flood::Component,
    /// To whom.
    pub to: String,
    /// Its subject.
    pub subject: String,
    /// What it says, without the reader's own link.
    pub text: String,
    /// What became of it.
    pub state: MessageState,
    /// How often it was tried.
    pub attempts: i64,
    /// When it came to be owed.
    pub created_at: Timestamp,
    /// When it is tried next; `None`: it is settled, or being sent.
    pub next_at: Option<Timestamp>,
    /// When it was sent or given up.
    pub settled_at: Option<Timestamp>,
    /// What went wrong last.
    pub error: Option<String>,
}

/// The letters about a strike that disables: one for each admin of the site.
#[must_use]
pub fn letters(strike: &Strike, site: &Site) -> Vec<NewMessage> {
    let Some(disabling) = &strike.disabling else {
        return Vec::new();
    };
    let words = Words::new(strike, disabling, site);
    let concerns = Concerns {
        site: strike.site.clone(),
        list: strike.list.clone(),
    };
    // A strike is told of once, whatever is tried again. Keys hold any character: as JSON they
    // stay apart.
    let once = (
        &strike.site,
        &strike.list,
        strike.component,
        strike.strike.day,
        strike.strike.number,
    );
    let once = serde_json::to_string(&once).unwrap_or_default();
    let admins = site.admins.iter();
    let letter = |to: &String| NewMessage {
        kind: Kind::Mail,
        recipient: to.clone(),
        topic: TOPIC,
        dedupe: format!("flood:{once}"),
        subject: words.subject.clone(),
        body: words.text.clone(),
        html: Some(words.html.clone()),
        // Plain strings: they can always be written.
        payload: serde_json::to_string(&concerns).ok(),
    };
    admins.map(letter).collect()
}

/// A letter in all its forms.
struct Words {
    subject: String,
    text: String,
    html: String,
}

impl Words {
    fn new(strike: &Strike, disabling: &Disabling, site: &Site) -> Self {
        let when = When::of(&site.time_zone);
        let list = shown(&strike.list);
        let component = strike.component.name();
        let title = format!("{component} is disabled on {list}");
        let notice = FloodNotice {
            title: title.clone(),
            lead: lead(strike, disabling, &list),
            facts: facts(strike, disabling, site, &when),
            next: next(strike, disabling, &when),
            act: format!("See {list}, re-enable {component} or pause the list"),
            link: LINK.to_owned(),
        };
        let subject = format!("[Spillway] {}: {title}", name_of(site));
        Self {
            subject: cut(&subject, SUBJECT_CHARS_MAX),
            text: plain(&notice),
            html: flood_notice(notice),
        }
    }
}

/// What people call a site.
fn name_of(site: &Site) -> String {
    match site.title.trim().is_empty() {
        true => shown(&site.site),
        false => shown(&site.title),
    }
}

fn lead(strike: &Strike, disabling: &Disabling, list: &str) -> Vec<String> {
    let component = strike.component.name();
    let per_minute = disabling.policy.per_minute();
    let number = ordinal(strike.strike.number);
    vec![
        format!(
            "Events of {component} reached {per_minute} in one minute for the {number} time today, \
             which is too often: {component} is disabled on {list}."
        ),
        format!(
            "Until a person re-enables it, its events are not handled, and they are not kept for \
             later either. What people and timers start goes on, as do the list's other components."
        ),
    ]
}

fn facts(strike: &Strike, disabling: &Disabling, site: &Site, when: &When) -> Vec<FloodFact> {
    let policy = disabling.policy;
    let disabled_at = Timestamp::from_millisecond(strike.wall_ms).unwrap_or_default();
    let fact = |label, value: String| FloodFact {
        label,
        value,
        href: None,
    };
    let mut facts = vec![
        fact("Component", strike.component.name().to_owned()),
        fact("List", shown(&strike.list)),
        fact("Site", name_of(site)),
    ];
    if !site.url.is_empty() {
        facts.push(FloodFact {
            label: "Address",
            value: shown(&site.url),
            href: Some(site.url.clone()),
        });
    }
    facts.extend([
        fact("Disabled", when.to_second(disabled_at)),
        fact("The minute", when.to_minute(disabling.minute_at)),
        fact(
            "Its events",
            format!(
                "{}; the limit is {}",
                strike.strike.count,
                policy.per_minute()
            ),
        ),
        fact(
            "Strikes today",
            format!(
                "{}; the limit is {}",
                strike.strike.number,
                policy.strikes_per_day()
            ),
        ),
        fact("Policy", in_short(policy)),
    ]);
    facts
}

/// `100/20/3: …`, as the documentation calls it.
fn in_short(policy: Policy) -> String {
    let (per_minute, strikes, grace) = (
        policy.per_minute(),
        policy.strikes_per_day(),
        policy.grace(),
    );
    let graced = match grace {
        0 => "each stops the rest of its minute".to_owned(),
        1 => "the first stops nothing".to_owned(),
        grace => format!("the first {grace} stop nothing"),
    };
    let disable = match strikes {
        1 => "1 strike in a day disables".to_owned(),
        strikes => format!("{strikes} strikes in a day disable"),
    };
    format!(
        "{per_minute}/{strikes}/{grace}: a minute with {per_minute} events is a strike, {disable}, \
         {graced}"
    )
}

fn next(strike: &Strike, disabling: &Disabling, when: &When) -> Vec<String> {
    let expires_at = Timestamp::from_millisecond(strike.wall_ms.saturating_add(LASTS_MS));
    let per_minute = disabling.policy.per_minute();
    vec![
        "Find out first what makes so many events: most often a rule fires itself.".to_owned(),
        format!(
            "Once re-enabled, the next minute with {per_minute} events disables it again, until \
             the day ends at {}; then strikes are counted from none.",
            when.to_minute(disabling.day_ends_at)
        ),
        format!(
            "The link is yours alone and needs no password, so do not pass it on. It is good until \
             {}.",
            when.to_minute(expires_at.unwrap_or(Timestamp::MAX))
        ),
    ]
}

fn plain(notice: &FloodNotice) -> String {
    let mut text = format!("{}\n\n", notice.title);
    for sentence in &notice.lead {
        text += &format!("{sentence}\n\n");
    }
    for FloodFact { label, value, .. } in &notice.facts {
        text += &format!("  {label:<14} {value}\n");
    }
    text += &format!("\n{}:\n{}\n\n", notice.act, notice.link);
    for sentence in &notice.next {
        text += &format!("{sentence}\n");
    }
    text + "\nSpillway wrote this; nobody reads answers to it.\n"
}

/// `1st`, `22nd`, `113th`.
fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

impl From<crate::store::FloodLetter> for Letter {
    fn from(letter: crate::store::FloodLetter) -> Self {
        let message = letter.message;
        let at = |ms| Timestamp::from_millisecond(ms).unwrap_or_default();
        let waits = message.state == MessageState::Waiting;
        Self {
            component: letter.component,
            to: message.recipient,
            subject: message.subject,
            text: without_link(&message.body),
            state: message.state,
            attempts: message.attempts,
            created_at: at(message.created_at_ms),
            next_at: waits.then(|| at(message.not_before_ms)),
            settled_at: message.settled_at_ms.map(at),
            error: message.error,
        }
    }
}

#[cfg(test)]
mod tests;
