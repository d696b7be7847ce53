//! Pauses of lists and sites.

use std::time::Duration;

use axum::{
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, request::Parts};
use jiff::{SignedDuration, Timestamp};
use spillway::flood::ListKey;
use spillway_app::{FloodPauseShown, FloodPausing, FloodWhose, Told, Undo, flood_pause_path};

use super::{
    super::{
        Pages,
        door::{Fields, sentence},
        operate::{self, NOTHING, UNDOES, still},
        plain,
    },
    enable::reason,
    one::{is_key, shown},
    unreadable, why_not,
};
use crate::{
    floods::{Paused, Whose},
    store,
};

/// The longest pause, in minutes: 31 days, as in the API.
const MINUTES_MAX: i64 = 31 * 24 * 60;

/// The reason of who takes something back by its button.
const TAKEN_BACK: &str = "taken back";

pub(in crate::dashboard) async fn show(
    State(pages): State<Pages>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let fields = Fields::in_address(query.as_deref());
    let Some(whose) = whose(&fields) else {
        return pages.nowhere(request).await;
    };
    let (head, _) = request.into_parts();
    let told = pages.told(&head, query.as_deref());
    pages
        .pausing(&head, StatusCode::OK, &whose, &fields, told)
        .await
}

pub(in crate::dashboard) async fn pause(State(pages): State<Pages>, request: Request) -> Response {
    let (head, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(whose) = whose(&fields) else {
        return unnamed(&pages, &head);
    };
    let was = match pages.in_force(&whose).await {
        Ok(was) => was,
        Err(error) => return unreadable(&error),
    };
    if let Err(changed) = still(&fields, was.as_ref().map(|was| was.until.as_str())) {
        let wrong = operate::sentence_of(&changed);
        return pages.pausing_again(&head, &whose, &fields, wrong).await;
    }
    let now = pages.entrance.api.limiters().clock().wall_now();
    let wish = reason(fields.get("reason")).and_then(|reason| Ok((reason, lasts(&fields, now)?)));
    let wish = wish.map_err(str::to_owned);
    let (reason, lasts) = match wish {
        Ok(wish) => wish,
        Err(wrong) => return pages.pausing_again(&head, &whose, &fields, wrong).await,
    };
    let by = pages.entrance.trail.by(&head).because(reason);
    match pages.floods().pause(&of(&whose), lasts, &by).await {
        Ok(Paused { until }) => {
            pages.desk.looks.forget();
            let text = format!("Paused until {}.", words(until));
            let until = match pages.in_force(&whose).await {
                Ok(now) => now.map_or_else(|| NOTHING.to_owned(), |now| now.until),
                Err(error) => return unreadable(&error),
            };
            let undo = [(UNDOES, until), ("reason", TAKEN_BACK.to_owned())];
            let told = undoable(text, "/floods/resume", &whose, undo, "Take it back");
            pages.lead(&head, &flood_pause_path(&whose.site, &whose.list), told)
        }
        Err(not) => {
            pages
                .pausing_again(&head, &whose, &fields, sentence(&not))
                .await
        }
    }
}

pub(in crate::dashboard) async fn resume(State(pages): State<Pages>, request: Request) -> Response {
    let (head, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(whose) = whose(&fields) else {
        return unnamed(&pages, &head);
    };
    let why = match reason(fields.get("reason")) {
        Ok(why) => why,
        Err(wrong) => {
            let wrong = wrong.to_owned();
            return pages.pausing_again(&head, &whose, &fields, wrong).await;
        }
    };
    let was = match pages.in_force(&whose).await {
        Ok(was) => was,
        Err(error) => return unreadable(&error),
    };
    if let Err(changed) = still(&fields, was.as_ref().map(|was| was.until.as_str())) {
        let wrong = operate::sentence_of(&changed);
        return pages.pausing_again(&head, &whose, &fields, wrong).await;
    }
    let by = pages.entrance.trail.by(&head).because(why);
    match pages.floods().resume(&of(&whose), &by).await {
        Ok(()) => {
            pages.desk.looks.forget();
            let told = resumed(&whose, was);
            pages.lead(&head, &flood_pause_path(&whose.site, &whose.list), told)
        }
        Err(not) => {
            pages
                .pausing_again(&head, &whose, &fields, sentence(&not))
                .await
        }
    }
}

/// That the pause is over, and how to have it again.
fn resumed(whose: &FloodWhose, was: Option<FloodPauseShown>) -> Told {
    let text = "Resumed: events are handled and counted again.".to_owned();
    match was {
        Some(was) => {
            let nothing = NOTHING.to_owned();
            let fields = [
                ("until", was.until),
                (UNDOES, nothing),
                ("reason", was.reason),
            ];
            undoable(text, "/floods/begin-pause", whose, fields, "Pause again")
        }
        None => Told::done(text),
    }
}

fn undoable<const N: usize>(
    text: String,
    action: &str,
    whose: &FloodWhose,
    more: [(&'static str, String); N],
    word: &str,
) -> Told {
    let keys = [("site", whose.site.clone()), ("list", whose.list.clone())];
    let undo = Undo {
        action: action.to_owned(),
        fields: keys.into_iter().chain(more).collect(),
        word: word.to_owned(),
    };
    Told {
        undo: Some(undo),
        ..Told::done(text)
    }
}

/// Whose events are meant; `None`: nobody's.
fn whose(fields: &Fields) -> Option<FloodWhose> {
    let (site, list) = (fields.get("site"), fields.get("list"));
    let is_whose = is_key(site) && (list.is_empty() || is_key(list));
    is_whose.then(|| FloodWhose {
        site: site.to_owned(),
        title: String::new(),
        list: list.to_owned(),
    })
}

fn of(whose: &FloodWhose) -> Whose {
    match whose.list.as_str() {
        "" => Whose::Site(whose.site.clone()),
        list => Whose::List(ListKey::new(&whose.site, list)),
    }
}

fn unnamed(pages: &Pages, head: &Parts) -> Response {
    let told = Told::wrong("Nothing was done: no such list or site can be.".to_owned());
    pages.lead(head, "/floods", told)
}

/// How long is wished for: an instant, as browsers send it without its zone, goes before a length.
fn lasts(fields: &Fields, now: Timestamp) -> Result<Duration, &'static str> {
    let length = match fields.get("until") {
        "" => {
            let minutes: i64 = fields
                .get("minutes")
                .parse()
                .map_err(|_| "Nothing was done: say for how long.")?;
            SignedDuration::from_mins(minutes.clamp(0, MINUTES_MAX + 1))
        }
        at => {
            let utc = format!("{at}Z");
            let at = at.parse().or_else(|_| utc.parse::<Timestamp>());
            let no = "Nothing was done: until must be an instant, like 2026-12-01T06:00.";
            at.map_err(|_| no)?.duration_since(now)
        }
    };
    if length > SignedDuration::from_mins(MINUTES_MAX) {
        return Err("Nothing was done: a pause ends within 31 days.");
    }
    let length = Duration::try_from(length).unwrap_or_default();
    match length.is_zero() {
        true => Err("Nothing was done: until must lie ahead."),
        false => Ok(length),
    }
}

fn words(at: Timestamp) -> String {
    at.strftime("%F %T UTC").to_string()
}

impl Pages {
    /// The pause of exactly these.
    async fn in_force(&self, whose: &FloodWhose) -> Result<Option<FloodPauseShown>, store::Error> {
        let key = ListKey::new(&whose.site, &whose.list);
        let pauses = self.floods().pauses(&key).await?;
        let clock = self.entrance.api.limiters().clock();
        let pause = pauses.iter().find(|it| it.list == whose.list);
        Ok(pause.map(|it| shown(it, clock)))
    }

    async fn pausing_again(
        &self,
        head: &Parts,
        whose: &FloodWhose,
        fields: &Fields,
        wrong: String,
    ) -> Response {
        let told = Some(Told::wrong(wrong));
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        self.pausing(head, status, whose, fields, told).await
    }

    async fn pausing(
        &self,
        head: &Parts,
        status: StatusCode,
        whose: &FloodWhose,
        fields: &Fields,
        told: Option<Told>,
    ) -> Response {
        let read = async {
            let now = self.in_force(whose).await?;
            Ok::<_, store::Error>((now, self.floods().site(&whose.site).await?))
        };
        let (now, site) = match read.await {
            Ok(read) => read,
            Err(error) => return unreadable(&error),
        };
        let visitor = self.visitor_of(head);
        let page = FloodPausing {
            why_not: why_not(visitor.may_operate),
            visitor,
            whose: FloodWhose {
                title: site.map(|site| site.title).unwrap_or_default(),
                ..whose.clone()
            },
            now,
            sent: operate::sent(head, fields),
            told,
        };
        plain(status, spillway_app::flood_pause(&self.options, page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lasting(query: &str) -> Result<u64, &'static str> {
        let now = "2026-12-01T06:00:00Z".parse().unwrap();
        lasts(&Fields::in_address(Some(query)), now).map(|it| it.as_secs())
    }

    #[test]
    fn a_pause_is_a_length_or_an_instant_ahead() {
        assert_eq!(lasting("minutes=15"), Ok(900));
        assert_eq!(lasting("minutes=15&until=2026-12-01T07:00"), Ok(3_600));
        assert_eq!(lasting("until=2026-12-01T07:00:00Z"), Ok(3_600));
        for query in [
            "",
            "minutes=x",
            "minutes=0",
            "minutes=-5",
            "minutes=44641",
            "minutes=9223372036854775807",
            "until=soon",
            "until=2026-12-01T06:00",
            "until=2027-01-02T06:00",
        ] {
            assert!(lasting(query).is_err(), "{query}");
        }
    }

    #[test]
    fn nobody_s_events_are_paused_by_accident() {
        let of = |query| whose(&Fields::in_address(Some(query)));
        assert!(of("list=l1").is_none());
        assert!(of("site=%00&list=l1").is_none());
        assert_eq!(of("site=s").unwrap().list, "");
    }
}
