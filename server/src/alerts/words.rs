//! What people and programs are told of incidents: plain words, in UTC. Names that somebody else
//! chose are shown so that they can neither end a line nor turn one around.

use jiff::Timestamp;
use spillway_app::{
    Letter, LetterPart, in_words, letter,
    live::{BreakerReason, Scope},
};

use super::incident::{Incident, Subject, Whose};

/// How many incidents a message describes; the others it counts.
const DESCRIBED_MAX: usize = 30;

/// The longest subject of a mail, in characters: what a line of a header carries at most
/// (RFC 5322, 2.1.1) leaves room for it, coded.
pub(crate) const SUBJECT_CHARS_MAX: usize = 200;

/// How many characters of a name, or of what another program said, are shown.
const SHOWN_CHARS_MAX: usize = 120;

/// A message in all its forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// One line.
    pub subject: String,
    /// For people.
    pub text: String,
    /// The same for mail programs that show it.
    pub html: String,
}

/// What is to be said of these, those that go on first, with the address of the page of them all.
#[must_use]
pub fn words(incidents: &[Incident], link: &str) -> Words {
    let mut incidents: Vec<_> = incidents.iter().collect();
    incidents.sort_by_key(|it| (it.ended_at_ms.is_some(), it.began_at_ms));
    let title = title_of_all(&incidents);
    let described = incidents.iter().take(DESCRIBED_MAX);
    let parts: Vec<_> = described.map(|incident| part(incident)).collect();
    let more = incidents.len() - parts.len();
    let more = (more > 0).then(|| format!("And {more} more, which the page shows."));
    Words {
        subject: cut(&format!("[Spillway] {title}"), SUBJECT_CHARS_MAX),
        text: plain(&title, &parts, more.as_deref(), link),
        html: letter(Letter {
            title,
            parts,
            more,
            link: link.to_owned(),
        }),
    }
}

fn title_of_all(incidents: &[&Incident]) -> String {
    let Some(first) = incidents.first() else {
        return "Nothing is wrong".to_owned();
    };
    match incidents.len() - 1 {
        0 => title(first),
        more => format!("{} and {more} more", title(first)),
    }
}

/// One incident in a few words.
#[must_use]
pub fn title(incident: &Incident) -> String {
    let what = match &incident.subject {
        Subject::Breaker {
            upstream,
            workload,
            whose,
        } => {
            let state = match (incident.ended_at_ms, incident.due_by_drift()) {
                (None, true) => "Throttled again and again",
                _ => "Breaker open",
            };
            format!("{state}: {} at {}", whom(whose), place(upstream, workload))
        }
        Subject::Users { upstream, workload } => {
            format!("Many users stopped at {}", place(upstream, workload))
        }
        Subject::Mail => "Mail does not go out".to_owned(),
    };
    match incident.ended_at_ms {
        Some(_) => format!("Over: {what}"),
        None => what,
    }
}

fn part(incident: &Incident) -> LetterPart {
    let when = match incident.ended_at_ms {
        None => format!("Since {}.", utc(incident.began_at_ms)),
        Some(end) => format!("From {} to {}.", utc(incident.began_at_ms), utc(end)),
    };
    LetterPart {
        is_over: incident.ended_at_ms.is_some(),
        title: title(incident),
        sentences: [when].into_iter().chain(sentences(incident)).collect(),
    }
}

/// What an incident means, why it is, and what happens next by itself.
#[must_use]
pub fn sentences(incident: &Incident) -> Vec<String> {
    let mut sentences = Vec::from_iter(returned(incident.returns));
    sentences.extend(why(incident));
    if incident.ended_at_ms.is_some() {
        sentences.push("It is over; nobody has to do anything.".to_owned());
    } else {
        sentences.extend(what_next(incident));
    }
    sentences
}

fn returned(times: u32) -> Option<String> {
    match times {
        0 => None,
        1 => Some("It went away and came back once.".to_owned()),
        times => Some(format!("It went away and came back {times} times.")),
    }
}

fn why(incident: &Incident) -> Vec<String> {
    let mut why = Vec::new();
    let reason = match incident.reason {
        Some(BreakerReason::Throttled) => Some("The upstream said that it throttles."),
        Some(BreakerReason::Percentage) => Some("The upstream reported that its limit is used up."),
        Some(BreakerReason::Outage) => Some("The upstream does not answer, or with errors alone."),
        Some(BreakerReason::Forced) => Some("An operator wants it so."),
        None => None,
    };
    why.extend(reason.map(str::to_owned));
    if incident.drift > 0 {
        let times = match incident.drift {
            1 => "once".to_owned(),
            times => format!("{times} times or more"),
        };
        why.push(format!(
            "It throttled {times} although everything fitted the limits here: another program uses \
             the same quota, or the upstream's limit is lower than the one that is set."
        ));
    }
    if incident.users_max > 0 {
        let users = incident.users_max;
        why.push(format!(
            "At most {users} users were stopped at once, each by a breaker of its own."
        ));
    }
    if let Some(error) = &incident.error {
        why.push(format!("What was said last: “{}”.", shown(error)));
    }
    why
}

fn what_next(incident: &Incident) -> Vec<String> {
    let until = incident.until_ms.map(utc);
    match &incident.subject {
        Subject::Breaker {
            workload, whose, ..
        } => {
            let hit = match whose.scope {
                Scope::Tenant => format!("All calls of this tenant to {}", workload_of(workload)),
                Scope::App | Scope::User => {
                    format!("All calls of this app to {}", workload_of(workload))
                }
            };
            let next = match until {
                Some(until) => format!("At {until} one call may try again"),
                None => "One call may try again".to_owned(),
            };
            vec![
                format!("{hit} are refused while it is open."),
                format!("{next}; if that passes, calls come back step by step by themselves."),
            ]
        }
        Subject::Users { .. } => vec![
            "Each of them may try again by itself when its own wait is over; others are not hit."
                .to_owned(),
        ],
        Subject::Mail => vec![
            "What is owed is kept, and goes out by itself when the mail server takes it; until \
             then people learn of trouble on the dashboard and by webhooks alone."
                .to_owned(),
        ],
    }
}

fn plain(title: &str, parts: &[LetterPart], more: Option<&str>, link: &str) -> String {
    let mut text = String::new();
    if parts.len() > 1 {
        text = format!("{title}\n\n");
    }
    for part in parts {
        text += &format!("{}\n", part.title);
        for sentence in &part.sentences {
            text += &format!("  {sentence}\n");
        }
        text.push('\n');
    }
    if let Some(more) = more {
        text += &format!("{more}\n\n");
    }
    text + &format!(
        "All of it: {link}\nTimes are UTC. Spillway wrote this; nobody reads answers to it.\n"
    )
}

fn whom(whose: &Whose) -> String {
    let app = shown(&whose.app);
    match whose.scope {
        Scope::Tenant => format!("tenant {} of app {app}", shown(&whose.tenant)),
        Scope::App | Scope::User => format!("app {app}"),
    }
}

fn place(upstream: &str, workload: &str) -> String {
    match workload {
        crate::config::GLOBAL => upstream.to_owned(),
        workload => format!("{upstream}/{workload}"),
    }
}

fn workload_of(workload: &str) -> &str {
    match workload {
        crate::config::GLOBAL => "this upstream",
        workload => workload,
    }
}

/// A name as it can stand anywhere.
pub(crate) fn shown(name: &str) -> String {
    in_words(&cut(name, SHOWN_CHARS_MAX))
}

/// A text of at most so many characters.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn utc(at_ms: i64) -> String {
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests;
