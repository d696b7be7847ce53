//! The limits: a list of all, and an editor for each, which works without JavaScript.
//!
//! What the form holds goes to one address, whichever button is pressed. Nothing is put in force
//! that was not looked at in a preview first: the form carries what was tried, and "Apply" of
//! anything else shows another preview instead.

mod draft;
mod numbers;
mod shown;
mod trial;

use axum::{
    Router,
    extract::{Path as InPath, RawQuery, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{StatusCode, request::Parts};
use serde::Deserialize;
use spillway::Policy;
use spillway_app::{Draft, LimitsList, Said, Typed, limits_path};

use super::{
    Pages,
    door::{form, sentence, unwritten},
    plain,
};
use crate::{
    access::{Caller, Role},
    audit::By,
    http::see_other,
    policy::{Busy, Edit, NotChanged, Place, Scopes},
    store::{self, StoredPolicy},
};
use draft::{Act, Form, Pairs};
use shown::{Parts as Shown, digest};

/// The longest form, in bytes: as long as a body of the API.
const FORM_BYTES_MAX: usize = 64 * 1024;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/limits", get(list))
        .route("/limits/{upstream}/{workload}", get(show))
        // Who comes there by its address comes to the page.
        .route(
            "/limits/{upstream}/{workload}/edit",
            get(go_back).post(edit),
        )
        .route("/limits/{upstream}/{workload}/rollback", post(roll_back))
}

type Named = InPath<(String, String)>;

/// What stands in the editor's address.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    /// Where a page of the history begins.
    before: Option<i64>,
    /// A version to roll back to.
    back: Option<i64>,
    /// The version that was just made.
    saved: Option<i64>,
}

async fn list(State(pages): State<Pages>, request: Request) -> Response {
    let visitor = pages.visitor(&request);
    let (parts, _) = request.into_parts();
    let mut limited = Vec::new();
    for place in pages.entrance.policies.places() {
        limited.push(shown::limited(&pages.entrance.policies, &place).await);
    }
    let list = LimitsList {
        visitor,
        shut: pages.shut(&parts),
        limited,
    };
    plain(
        StatusCode::OK,
        spillway_app::limits_list(&pages.options, list),
    )
}

async fn show(
    State(pages): State<Pages>,
    InPath((upstream, workload)): Named,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let query = query.unwrap_or_default();
    let asked: Asked = serde_urlencoded::from_str(&query).unwrap_or_default();
    let Some(place) = pages.entrance.policies.place(&upstream, &workload) else {
        return pages.nowhere(request).await;
    };
    let editing = Editing::of(&pages, place, &request);
    let mut parts = Shown {
        before: asked.before,
        saved: asked.saved,
        ..Shown::default()
    };
    if let Some(version) = asked.back {
        match editing.rollback(version, Typed::default()).await {
            Ok(rollback) => parts.rollback = rollback,
            Err(error) => return unreadable(&error),
        }
        if parts.rollback.is_none() {
            let text = format!("There is no version {version} to go back to.");
            parts.said.push(Said::Wrong(text));
        }
    }
    editing.page(StatusCode::OK, parts).await
}

async fn go_back(InPath((upstream, workload)): Named) -> Response {
    see_other(&limits_path(&upstream, &workload))
}

async fn edit(
    State(pages): State<Pages>,
    InPath((upstream, workload)): Named,
    request: Request,
) -> Response {
    let Some(place) = pages.entrance.policies.place(&upstream, &workload) else {
        return pages.nowhere(request).await;
    };
    let editing = Editing::of(&pages, place, &request);
    let pairs: Pairs = match form(request, FORM_BYTES_MAX).await {
        Ok((_, pairs)) => pairs,
        Err(problem) => return problem.into_response(),
    };
    let mut form = draft::read(&pairs);
    let scope = match place.scopes() {
        Scopes::App => "app",
        Scopes::All => "user",
    };
    if draft::reshape(&mut form.draft, form.act, scope) {
        return editing.unchanged(form.draft).await;
    }
    match form.act {
        Act::Apply => editing.apply(form).await,
        Act::Overwrite => editing.overwrite(form).await,
        _ => editing.preview(form.draft, Vec::new()).await,
    }
}

/// The form under a version that is to be in force again.
#[derive(Deserialize)]
struct Back {
    version: i64,
    base: i64,
    #[serde(default)]
    reason: String,
}

async fn roll_back(
    State(pages): State<Pages>,
    InPath((upstream, workload)): Named,
    request: Request,
) -> Response {
    let Some(place) = pages.entrance.policies.place(&upstream, &workload) else {
        return pages.nowhere(request).await;
    };
    let editing = Editing::of(&pages, place, &request);
    let back: Back = match form(request, FORM_BYTES_MAX).await {
        Ok((_, back)) => back,
        Err(problem) => return problem.into_response(),
    };
    editing.roll_back(back).await
}

/// Somebody's look at a workload's limits.
struct Editing<'a> {
    pages: &'a Pages,
    place: Place<'a>,
    visitor: spillway_app::Visitor,
    by: By,
    /// Why they may not change them.
    shut: Option<String>,
}

impl<'a> Editing<'a> {
    fn of(pages: &'a Pages, place: Place<'a>, request: &Request) -> Self {
        let parts = head(request);
        Self {
            pages,
            place,
            visitor: pages.visitor(request),
            by: pages.entrance.trail.by(&parts),
            shut: pages.shut(&parts),
        }
    }

    /// The page with a form that nothing was made of yet.
    async fn unchanged(&self, draft: Draft) -> Response {
        let parts = Shown {
            draft: Some(draft),
            ..Shown::default()
        };
        self.page(StatusCode::OK, parts).await
    }

    /// The page with what the form's limits would have done, or what is wrong with them.
    async fn preview(&self, mut draft: Draft, said: Vec<Said>) -> Response {
        match draft::check(&mut draft, &self.place) {
            Some(policy) => self.tried(draft, policy, said).await,
            None => self.mistaken(draft).await,
        }
    }

    async fn tried(&self, draft: Draft, policy: Policy, mut said: Vec<Said>) -> Response {
        match self.is_newest(draft.base).await {
            Ok(true) => {}
            Ok(false) => said.push(Said::Wrong(format!(
                "Somebody else saved these limits after version {}, which yours began with: they can \
                 be applied only over theirs.",
                draft.base
            ))),
            Err(error) => return unreadable(&error),
        }
        let trial = match trial::of(&self.pages.entrance.policies, &self.place, policy).await {
            Ok(trial) => Some(trial),
            Err(Busy) => {
                said.push(Said::Wrong(sentence(&Busy)));
                None
            }
        };
        let parts = Shown {
            draft: Some(draft),
            trial,
            said,
            ..Shown::default()
        };
        self.page(StatusCode::OK, parts).await
    }

    async fn mistaken(&self, draft: Draft) -> Response {
        let said = "Nothing is changed: something below is not right yet.".to_owned();
        let parts = Shown {
            draft: Some(draft),
            said: vec![Said::Wrong(said)],
            ..Shown::default()
        };
        self.page(StatusCode::UNPROCESSABLE_ENTITY, parts).await
    }

    /// Puts the form's limits in force, if they are those that were tried.
    async fn apply(&self, mut form: Form) -> Response {
        let Some(policy) = draft::check(&mut form.draft, &self.place) else {
            return self.mistaken(form.draft).await;
        };
        if digest(&policy) != form.tried {
            let said = "These are other limits than those that were tried. Look at what they \
                        would have done, then apply them.";
            return self
                .tried(form.draft, policy, vec![Said::Wrong(said.to_owned())])
                .await;
        }
        let base = form.draft.base;
        self.save(form.draft, policy, base).await
    }

    /// The same over what somebody else saved, if that was seen.
    async fn overwrite(&self, mut form: Form) -> Response {
        let Some(policy) = draft::check(&mut form.draft, &self.place) else {
            return self.mistaken(form.draft).await;
        };
        let as_shown = digest(&policy) == form.tried;
        let said = match form.over.filter(|_| form.seen) {
            Some(over) if as_shown => return self.save(form.draft, policy, over).await,
            Some(_) => {
                "Nothing is changed: these are other limits than those that were shown as yours. \
                 Look at them, then save them over theirs."
            }
            None => "Set the mark that you have seen their change, then save yours over it.",
        };
        let said = vec![Said::Wrong(said.to_owned())];
        self.conflict(form.draft, &policy, said).await
    }

    async fn save(&self, mut draft: Draft, policy: Policy, base: i64) -> Response {
        let Some(reason) = draft::reason(&mut draft.reason) else {
            return match self.is_newest(base).await {
                Ok(true) => {
                    let said = "Nothing is changed: say why they are to change.".to_owned();
                    self.tried(draft, policy, vec![Said::Wrong(said)]).await
                }
                Ok(false) => self.conflict(draft, &policy, Vec::new()).await,
                Err(error) => unreadable(&error),
            };
        };
        let by = self.by.clone().because(&reason);
        let edit = self.edit(base, &by);
        match self
            .pages
            .entrance
            .policies
            .change(&self.place, &policy, edit)
            .await
        {
            Ok(stored) => self.saved(&stored),
            Err(NotChanged::Store(store::Error::Conflict { .. })) => {
                self.conflict(draft, &policy, Vec::new()).await
            }
            Err(not) => self.not_changed(Some(draft), &not).await,
        }
    }

    async fn is_newest(&self, base: i64) -> Result<bool, store::Error> {
        let newest = self.pages.entrance.policies.newest(&self.place).await?;
        Ok(newest.is_some_and(|newest| newest.version == base))
    }

    async fn conflict(&self, draft: Draft, own: &Policy, mut said: Vec<Said>) -> Response {
        let conflict = match shown::conflict(self, draft.base, own).await {
            Ok(conflict) => conflict,
            Err(error) => return unreadable(&error),
        };
        if said.is_empty() {
            let text = "Nothing is changed: somebody else saved these limits meanwhile.";
            said.push(Said::Wrong(text.to_owned()));
        }
        let parts = Shown {
            draft: Some(draft),
            conflict,
            said,
            ..Shown::default()
        };
        self.page(StatusCode::CONFLICT, parts).await
    }

    async fn roll_back(&self, back: Back) -> Response {
        let mut reason = draft::typed(&back.reason);
        let Some(because) = draft::reason(&mut reason) else {
            return self
                .back_again(back.version, reason, StatusCode::UNPROCESSABLE_ENTITY, None)
                .await;
        };
        let by = self.by.clone().because(&because);
        let edit = self.edit(back.base, &by);
        let policies = &self.pages.entrance.policies;
        match policies.roll_back(&self.place, back.version, edit).await {
            Ok(stored) => self.saved(&stored),
            Err(NotChanged::Store(store::Error::Conflict { .. })) => {
                let said = "Nothing is changed: somebody else saved these limits meanwhile. This \
                            is what a rollback changes now.";
                let said = Some(Said::Wrong(said.to_owned()));
                self.back_again(back.version, reason, StatusCode::CONFLICT, said)
                    .await
            }
            Err(not) => self.not_changed(None, &not).await,
        }
    }

    /// The rollback's form once more.
    async fn back_again(
        &self,
        version: i64,
        reason: Typed,
        status: StatusCode,
        said: Option<Said>,
    ) -> Response {
        let parts = match self.rollback(version, reason).await {
            Ok(rollback) => Shown {
                rollback,
                said: said.into_iter().collect(),
                ..Shown::default()
            },
            Err(error) => return unreadable(&error),
        };
        self.page(status, parts).await
    }

    async fn rollback(
        &self,
        version: i64,
        reason: Typed,
    ) -> Result<Option<spillway_app::Rollback>, store::Error> {
        shown::rollback(self, version, reason).await
    }

    fn edit<'b>(&self, base: i64, by: &'b By) -> Edit<'b> {
        let at_ms = self.pages.entrance.policies.now_ms();
        Edit { base, by, at_ms }
    }

    fn saved(&self, stored: &StoredPolicy) -> Response {
        let path = limits_path(self.place.limiter.name(), self.place.name);
        see_other(&format!("{path}?saved={}", stored.version))
    }

    async fn not_changed(&self, draft: Option<Draft>, not: &NotChanged) -> Response {
        let status = match not {
            NotChanged::FileRules => StatusCode::CONFLICT,
            NotChanged::NoSuchVersion(_) => StatusCode::NOT_FOUND,
            NotChanged::Store(_) | NotChanged::Written(_) => return unwritten(),
        };
        let parts = Shown {
            draft,
            said: vec![Said::Wrong(sentence(not))],
            ..Shown::default()
        };
        self.page(status, parts).await
    }

    async fn page(&self, status: StatusCode, parts: Shown) -> Response {
        match shown::editor(self, parts).await {
            Ok(editor) => plain(
                status,
                spillway_app::limits_editor(&self.pages.options, editor),
            ),
            Err(error) => unreadable(&error),
        }
    }
}

impl Pages {
    /// Why whoever asks may not change limits; `None`: they may.
    fn shut(&self, parts: &Parts) -> Option<String> {
        if !self.entrance.policies.are_editable() {
            return Some(sentence(&NotChanged::FileRules));
        }
        let caller = parts.extensions.get::<Caller>();
        let may = caller.map_or(Ok(()), |caller| caller.is_at_least(Role::Admin));
        may.err()
            .map(|denied| format!("You can look, but not change: {denied}."))
    }
}

/// The head of a request, without what was sent.
fn head(request: &Request) -> Parts {
    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts.headers.clone_from(request.headers());
    parts.extensions.clone_from(request.extensions());
    parts
}

fn unreadable(error: &store::Error) -> Response {
    let error = error as &dyn std::error::Error;
    tracing::error!(error, "the limits cannot be shown");
    unwritten()
}
