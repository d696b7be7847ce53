//! `POST /api/v1/events`: one event, up to a thousand, or a stream of lines.

use std::borrow::Cow;

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use spillway::flood::{Component, Trigger};
use utoipa::{
    ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{AnyOfBuilder, ArrayBuilder, ObjectBuilder, Schema, SchemaType},
    },
};

use super::{super::Api, lines};
use crate::{
    access::Caller,
    api::{
        json::{self, BodyRefused, object, parse},
        named::{bad_field, key},
    },
    floods::{Decided, Deciding, Floods, NotTold, Report, Told},
    http::Problem,
};

/// The most events of one list.
const ITEMS_MAX: usize = 1_000;

/// The most bytes of a body that is not a stream: a thousand events with the longest keys that
/// are usual.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The bytes of most answers, a comma with them.
pub(super) const ANSWER_BYTES: usize = 56;

/// The longest id, in bytes.
const ID_BYTES_MAX: usize = 256;

/// What would handle an event.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = FloodComponent)]
pub(super) enum ComponentName {
    Action,
    Alert,
    ItemId,
    Summary,
}

/// What caused an event.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = FloodTrigger)]
enum TriggerName {
    Event,
    Manual,
    Timer,
}

/// An event that is to be handled, or was.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FloodEvent)]
pub(super) struct Item<'a> {
    /// Where the list is; one that nobody has told of is counted, and nobody is mailed.
    #[serde(borrow)]
    #[schema(min_length = 1, max_length = 256, value_type = String)]
    site: Cow<'a, str>,
    /// Whose event it is. Names repeat across sites.
    #[serde(borrow)]
    #[schema(min_length = 1, max_length = 256, value_type = String)]
    list: Cow<'a, str>,
    /// What would handle it.
    component: ComponentName,
    /// What caused it. Only `event` is counted; the others are always handled.
    trigger: TriggerName,
    /// What tells it from all other events of the list and component: reported again within 15
    /// minutes, it is answered as the first time, and not counted.
    #[serde(borrow)]
    #[schema(min_length = 1, max_length = 256, value_type = Option<String>)]
    id: Option<Text<'a>>,
    /// When it happened, at most 15 minutes ago; left out: now.
    #[serde(borrow)]
    #[schema(format = DateTime, value_type = Option<String>)]
    at: Option<Text<'a>>,
}

/// A text where it stands, unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// What to do with an event.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodAnswer)]
pub(super) struct Answer {
    #[schema(pattern = "^(handle|stop|disabled|paused)$")]
    decision: &'static str,
    /// The events counted in its minute so far.
    count: u32,
    /// The strikes of its day so far.
    strikes: u32,
}

/// One event, or several.
#[derive(ToSchema)]
#[schema(as = FloodEvents)]
#[serde(untagged)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
enum OneOrMany {
    One(Item<'static>),
    Many(#[schema(inline)] List),
}

/// Events, each judged by itself: what is no event has a problem in its place.
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
struct List(Vec<Item<'static>>);

impl utoipa::PartialSchema for List {
    fn schema() -> RefOr<Schema> {
        let anything = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
        let item = AnyOfBuilder::new()
            .item(Ref::from_schema_name("FloodEvent"))
            .item(anything);
        ArrayBuilder::new()
            .items(item)
            .max_items(Some(ITEMS_MAX))
            .description(Some("Each item is judged by itself."))
            .into()
    }
}

impl ToSchema for List {}

/// The answer to one event, or to several in their order.
#[derive(ToSchema)]
#[schema(as = FloodAnswers)]
#[serde(untagged)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
enum AnswerOrAnswers {
    One(Answer),
    Many(Vec<AnswerOrProblem>),
}

#[derive(ToSchema)]
#[schema(as = FloodAnswerOrProblem)]
#[serde(untagged)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
enum AnswerOrProblem {
    Answer(Answer),
    Problem(crate::http::ProblemDocument),
}

/// Ask whether to handle events
///
/// Before each event of a list is handled. Wait at most 100 ms for the answer; without one handle
/// the event and report it later, with `at` and `id`. A list of events is answered by a list, in
/// order, where a bad item has a problem in its place. With `Content-Type: application/x-ndjson`
/// each line is an event, answered by a line as soon as it is decided.
#[utoipa::path(
    post,
    path = "/api/v1/events",
    tag = "floods",
    operation_id = "reportEvents",
    request_body(
        content = OneOrMany,
        content_type = "application/json",
        examples(
            ("one" = (value = json!({
                "site": "s1", "list": "l1", "component": "action", "trigger": "event"
            }))),
            ("several" = (value = json!([
                { "site": "s1", "list": "l1", "component": "action", "trigger": "event", "id": "7f9f" },
                { "site": "s1", "list": "l2", "component": "alert", "trigger": "timer" }
            ]))),
        )
    ),
    responses(
        BodyRefused,
        (
            status = 200, description = "What to do with them",
            body = AnswerOrAnswers, content_type = "application/json",
            examples(("one" = (value = json!({ "decision": "handle", "count": 7, "strikes": 0 }))))
        ),
        (status = 403, description = "`site_not_allowed`: the token is bound to other sites"),
        (
            status = 422,
            description = "`bad_field`; `too_late`: `at` is more than 15 minutes ago; `too_many_items`"
        ),
        (
            status = 503,
            description = "`capacity`: as many lists are counted as may be; `storage`: a strike \
                cannot be written down. Handle the event, and report it later"
        ),
    )
)]
pub(super) async fn report(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    reported(&api, caller, request).await
}

/// The same, asked by who goes past the router, too.
pub(in crate::api) async fn reported(api: &Api, caller: Caller, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if lines::are(&head.headers) {
        return lines::answer(api.floods.clone(), caller, body);
    }
    let answered = answered(&api.floods, &caller, &head.headers, body).await;
    answered.unwrap_or_else(|refused| refused)
}

async fn answered(
    floods: &Floods,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let text = json::text_up_to(headers, body, BODY_BYTES_MAX).await?;
    if text.trim_ascii_start().first() != Some(&b'[') {
        let told = told(decided(floods, caller, &text)).await;
        let answer = told.map_err(IntoResponse::into_response)?;
        let mut text = Vec::with_capacity(ANSWER_BYTES);
        put_answer(&mut text, &answer);
        return Ok(written(text));
    }
    // All are decided before one waits: their strikes are then written together.
    let decided = all_decided(floods, caller, &text).map_err(IntoResponse::into_response)?;
    let mut list = Vec::with_capacity(decided.len() * ANSWER_BYTES);
    for (n, decided) in decided.into_iter().enumerate() {
        list.push(if n == 0 { b'[' } else { b',' });
        put(&mut list, decided).await;
    }
    list.extend(if list.is_empty() { &b"[]"[..] } else { b"]" });
    Ok(written(list))
}

/// Reads a list of events and decides each that is one.
fn all_decided(
    floods: &Floods,
    caller: &Caller,
    text: &[u8],
) -> Result<Vec<Result<Decided, Problem>>, Problem> {
    let mut deciding = floods.deciding();
    if let Some(items) = whole(text) {
        fits(items.len())?;
        let items = items.into_iter();
        return Ok(items.map(|it| decide(&mut deciding, caller, it)).collect());
    }
    let items: Vec<&RawValue> = parse(text)?;
    fits(items.len())?;
    let items = items.iter().map(|item| item.get().as_bytes());
    let read = |item| decide(&mut deciding, caller, object(item)?);
    Ok(items.map(read).collect())
}

/// All items at once, where all are events: twice as fast as to find and to read each. Serde takes
/// lists for objects, so none may be in there, if only within a text.
fn whole(text: &[u8]) -> Option<Vec<Item<'_>>> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, items) = text.split_once('[')?;
    if memchr::memchr(b'[', items.as_bytes()).is_some() {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Reads one event and decides it.
pub(super) fn decided(floods: &Floods, caller: &Caller, text: &[u8]) -> Result<Decided, Problem> {
    decide(&mut floods.deciding(), caller, object(text)?)
}

fn decide(
    deciding: &mut Deciding<'_>,
    caller: &Caller,
    item: Item<'_>,
) -> Result<Decided, Problem> {
    let report = item.report()?;
    caller.may_report(&report.site)?;
    Ok(deciding.decide(&report)?)
}

fn fits(items: usize) -> Result<(), Problem> {
    if items > ITEMS_MAX {
        return Err(too_many(items));
    }
    Ok(())
}

/// The answer, once what it says will not be forgotten.
async fn told(decided: Result<Decided, Problem>) -> Result<Answer, Problem> {
    Ok(Answer::from(decided?.told().await?))
}

/// Appends the answer or the problem, as a line has it.
pub(super) async fn put(text: &mut Vec<u8>, decided: Result<Decided, Problem>) {
    if let Ok(decided) = &decided
        && let Some(told) = decided.at_once()
    {
        return put_answer(text, &told.into());
    }
    match told(decided).await {
        Ok(answer) => put_answer(text, &answer),
        Err(problem) => text.extend(problem.to_json().to_string().into_bytes()),
    }
}

/// `{"decision":"handle","count":7,"strikes":0}`: what has no strings needs no serialiser that
/// could fail.
fn put_answer(text: &mut Vec<u8>, answer: &Answer) {
    let Answer {
        decision,
        count,
        strikes,
    } = answer;
    text.extend(br#"{"decision":""#);
    text.extend(decision.as_bytes());
    text.extend(br#"","count":"#);
    put_number(text, *count);
    text.extend(br#","strikes":"#);
    put_number(text, *strikes);
    text.push(b'}');
}

fn put_number(text: &mut Vec<u8>, number: u32) {
    // Memory takes all that is written to it.
    let _ = serde_json::to_writer(text, &number);
}

fn written(text: Vec<u8>) -> Response {
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, text).into_response()
}

fn too_many(items: usize) -> Problem {
    let title = "The list is too long";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "too_many_items", title).detail(format!(
        "at most {ITEMS_MAX} events at once, and these are {items}; send more of them as lines, \
         with Content-Type: application/x-ndjson"
    ))
}

impl<'a> Item<'a> {
    fn report(self) -> Result<Report<'a>, Problem> {
        let id = self.id.map(|id| id.0);
        if let Some(id) = &id
            && (id.is_empty() || id.len() > ID_BYTES_MAX)
        {
            return Err(bad_field(format!("id must have 1 to {ID_BYTES_MAX} bytes")));
        }
        let at = self.at.map(|at| at.0.parse::<Timestamp>()).transpose();
        let at = at.map_err(|_| {
            bad_field("at must be an instant of RFC 3339, like 2026-12-01T06:00:00Z")
        })?;
        Ok(Report {
            site: key("site", self.site)?,
            list: key("list", self.list)?,
            component: self.component.into(),
            trigger: self.trigger.into(),
            id,
            at,
        })
    }
}

impl From<ComponentName> for Component {
    fn from(name: ComponentName) -> Self {
        match name {
            ComponentName::Action => Self::Action,
            ComponentName::Alert => Self::Alert,
            ComponentName::ItemId => Self::ItemId,
            ComponentName::Summary => Self::Summary,
        }
    }
}

impl From<TriggerName> for Trigger {
    fn from(name: TriggerName) -> Self {
        match name {
            TriggerName::Event => Self::Event,
            TriggerName::Manual => Self::Manual,
            TriggerName::Timer => Self::Timer,
        }
    }
}

impl From<Told> for Answer {
    fn from(told: Told) -> Self {
        Self {
            decision: told.decision.name(),
            count: told.count,
            strikes: told.strikes,
        }
    }
}

impl From<NotTold> for Problem {
    fn from(not: NotTold) -> Self {
        let (status, code, title) = match not {
            NotTold::TooLate => (422, "too_late", "The event is reported too late"),
            NotTold::Ahead => (422, "bad_field", "A field is not as it should be"),
            NotTold::Full => (503, "capacity", "No more lists can be counted"),
            NotTold::Busy | NotTold::Unwritten => {
                (503, "storage", "A strike cannot be written down")
            }
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        Self::new(status, code, title).detail(not.to_string())
    }
}
