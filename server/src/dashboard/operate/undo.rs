//! What was done, in words, and how it is taken back where it can be.

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use spillway_app::{
    Target, Told, Undo,
    live::{Breaker, BreakerReason, BreakerState, Pause, SetBy},
};

use crate::{
    api::operations::Steered, audit::REASON_CHARS_MAX, dashboard::door::Fields, http::Problem,
};

/// The field of an undo that says until when what it takes back is in force.
pub(in crate::dashboard) const UNDOES: &str = "undoes";

/// It says so where nothing is.
pub(in crate::dashboard) const NOTHING: &str = "nothing";

/// An undo takes back what is still in force, and nothing that somebody did since; every other form
/// may.
pub(in crate::dashboard) fn still(fields: &Fields, now: Option<&str>) -> Result<(), Problem> {
    let undoes = fields.get(UNDOES);
    let is_the_same = match (
        undoes.parse::<Timestamp>(),
        now.map(str::parse::<Timestamp>),
    ) {
        // A look at the clock later, an instant may be written a little differently.
        (Ok(then), Some(Ok(now))) => then.duration_since(now).abs() <= SignedDuration::from_secs(1),
        _ => undoes == now.unwrap_or(NOTHING),
    };
    if undoes.is_empty() || is_the_same {
        return Ok(());
    }
    let title = "Somebody changed this meanwhile";
    let detail = "Nothing is changed: this is no longer what you did. Look at what is in force now, and \
                  who did it";
    Err(Problem::new(StatusCode::CONFLICT, "changed_meanwhile", title).detail(detail))
}

/// Background calls are paused: another pause of the same, or none, is put in force again.
pub(super) fn paused(target: &Target, steered: &Steered<Option<Pause>>, why: &str) -> Told {
    let now = steered.now.as_ref().map(|pause| pause.until.as_str());
    let until = until(now);
    let undo = match &steered.was {
        Some(was) => again(
            (target, now),
            "background/pause",
            &was.until,
            was.by.as_ref(),
        ),
        None => form(
            (target, now),
            "background/resume",
            None,
            &format!("taken back: {why}"),
        ),
    };
    told(
        format!("Background calls are paused{until}: {}.", target.words()),
        Some(undo),
    )
}

/// A pause has ended: it is put in force again, as it was.
pub(super) fn resumed(target: &Target, steered: &Steered<Option<Pause>>) -> Told {
    let was = steered.was.as_ref();
    let undo = was.map(|was| {
        again(
            (target, None),
            "background/pause",
            &was.until,
            was.by.as_ref(),
        )
    });
    told(format!("Background calls go on: {}.", target.words()), undo)
}

/// A breaker is forced (open or closed), or reset. What it was forced to before can be put in
/// force again; what it had learnt of the upstream cannot.
pub(super) fn forced(target: &Target, steered: &Steered<Breaker>, open: Option<bool>) -> Told {
    let was = &steered.was;
    let now = steered.now.until.as_deref();
    let undo = match (was.reason, &was.until) {
        (Some(BreakerReason::Forced), Some(until)) => {
            let act = match was.state {
                BreakerState::Closed => "breaker/close",
                _ => "breaker/open",
            };
            Some(again((target, now), act, until, was.by.as_ref()))
        }
        // As nothing was learnt, nothing is forgotten.
        _ if open.is_some() && was.state == BreakerState::Closed => {
            Some(form((target, now), "breaker/reset", None, "taken back"))
        }
        _ => None,
    };
    let until = until(now);
    let what = match open {
        Some(true) => format!("All calls are stopped{until}: {}.", target.words()),
        Some(false) => format!("Calls are let through{until}: {}.", target.words()),
        None => format!("The breaker is reset: {}.", target.words()),
    };
    told(what, undo)
}

fn told(what: String, undo: Option<Undo>) -> Told {
    Told {
        undo,
        ..Told::done(what)
    }
}

/// What an undo takes back: of what, and until when that is in force.
type Done<'a> = (&'a Target, Option<&'a str>);

/// The form that puts something in force again, until then, for the reason that it had.
fn again(done: Done<'_>, act: &str, until: &str, by: Option<&SetBy>) -> Undo {
    let reason = by.map_or("as it was", |by| by.reason.as_str());
    form(done, act, Some(until), reason)
}

fn form((target, now): Done<'_>, act: &str, until: Option<&str>, reason: &str) -> Undo {
    let reason = reason.chars().take(REASON_CHARS_MAX).collect();
    let until = until.map(|until| ("until", until.to_owned()));
    let fields = target.fields().into_iter();
    Undo {
        action: format!("/operate/{act}"),
        fields: fields
            .chain(until)
            .chain([
                (UNDOES, now.unwrap_or(NOTHING).to_owned()),
                ("reason", reason),
            ])
            .collect(),
        word: "Undo".to_owned(),
    }
}

fn until(at: Option<&str>) -> String {
    let Some(at) = at else {
        return String::new();
    };
    let second = at.split('.').next().unwrap_or(at).trim_end_matches('Z');
    format!(" until {} UTC", second.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target {
            upstream: "graph".to_owned(),
            scope: "app",
            app: "a".to_owned(),
            ..Target::default()
        }
    }

    fn pause(until: &str, reason: &str) -> Pause {
        Pause {
            until: until.to_owned(),
            by: Some(SetBy {
                reason: reason.to_owned(),
                ..SetBy::default()
            }),
            ..Pause::default()
        }
    }

    fn undo(told: Told) -> String {
        let undo = told.undo.unwrap();
        let fields = undo.fields.iter().map(|(name, it)| format!("{name}={it}"));
        format!("{}?{}", undo.action, fields.collect::<Vec<_>>().join("&"))
    }

    #[test]
    fn a_pause_is_taken_back_to_what_was_before() {
        let now = Some(pause("2026-12-01T07:00:00.000Z", "new"));
        let first = Steered {
            was: None,
            now: now.clone(),
        };
        assert_eq!(
            undo(paused(&target(), &first, "new")),
            "/operate/background/resume?upstream=graph&app=a&scope=app\
             &undoes=2026-12-01T07:00:00.000Z&reason=taken back: new"
        );
        let was = Some(pause("2026-12-01T06:30:00.000Z", "old"));
        let longer = Steered {
            was: was.clone(),
            now,
        };
        let as_it_was = |undoes: &str| {
            format!(
                "/operate/background/pause?upstream=graph&app=a&scope=app\
                 &until=2026-12-01T06:30:00.000Z&undoes={undoes}&reason=old"
            )
        };
        assert_eq!(
            undo(paused(&target(), &longer, "new")),
            as_it_was("2026-12-01T07:00:00.000Z")
        );
        let ended = Steered { was, now: None };
        assert_eq!(undo(resumed(&target(), &ended)), as_it_was("nothing"));
    }

    #[test]
    fn what_somebody_did_since_is_not_taken_back() {
        let undo = Fields::in_address(Some("undoes=2026-12-01T07:00:00.000Z"));
        assert!(still(&undo, Some("2026-12-01T07:00:00.002Z")).is_ok());
        assert!(
            still(&undo, Some("2026-12-02T07:00:00.000Z")).is_err() && still(&undo, None).is_err()
        );
        let again = Fields::in_address(Some("undoes=nothing"));
        assert!(still(&again, None).is_ok() && still(&again, Some("x")).is_err());
        assert!(still(&Fields::in_address(Some("minutes=60")), Some("x")).is_ok());
    }

    #[test]
    fn of_a_breaker_only_what_was_forced_or_nothing_comes_back() {
        let breaker = |state, reason, until: Option<&str>| Breaker {
            state,
            reason,
            until: until.map(str::to_owned),
            ..Breaker::default()
        };
        let now = breaker(BreakerState::Open, Some(BreakerReason::Forced), Some("x"));
        let steered = |was| Steered {
            was,
            now: now.clone(),
        };
        let free = steered(Breaker::default());
        assert!(undo(forced(&target(), &free, Some(true))).starts_with("/operate/breaker/reset?"));
        assert!(forced(&target(), &free, None).undo.is_none());
        let held = breaker(BreakerState::Closed, Some(BreakerReason::Forced), Some("y"));
        let held = undo(forced(&target(), &steered(held), None));
        assert!(
            held.starts_with("/operate/breaker/close?") && held.contains("until=y"),
            "{held}"
        );
        let learnt = breaker(
            BreakerState::Open,
            Some(BreakerReason::Throttled),
            Some("z"),
        );
        assert!(
            forced(&target(), &steered(learnt), Some(false))
                .undo
                .is_none()
        );
    }
}
