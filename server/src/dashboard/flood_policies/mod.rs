//! The policies of the flood guard, looked at and changed as limits are: nothing is put in force
//! that was not looked at in a preview first, a conflict shows both sides, and each change has a
//! reason.

mod draft;
mod shown;

use axum::{
    Router,
    extract::{Path as InPath, RawQuery, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{StatusCode, request::Parts};
use serde::Deserialize;
use spillway::flood::Component;
use spillway_app::{FLOOD_POLICIES_PATH, FloodDraft, FloodPolicies, Said, Typed};

use super::{
    Pages,
    door::{form, sentence, unwritten},
    plain,
};
use crate::{
    access::{Caller, Role},
    audit::By,
    floods::{Checked, FloodDocument, FloodEdit, Floods, NotTried},
    http::see_other,
    store,
};
use draft::{Act, Form};
use shown::{Shown, digest};

/// The longest form, in bytes: as long as a body of the API.
const FORM_BYTES_MAX: usize = 512 * 1024;

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 500;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/flood-policies", get(list))
        .route("/flood-policies/{component}", get(show))
        // Who comes there by its address comes to the page.
        .route("/flood-policies/{component}/edit", get(go_back).post(edit))
        .route("/flood-policies/{component}/rollback", post(roll_back))
}

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

fn named(name: &str) -> Option<Component> {
    Component::ALL.into_iter().find(|it| it.name() == name)
}

async fn list(State(pages): State<Pages>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let floods = pages.entrance.api.floods();
    let mut policies = Vec::new();
    for component in Component::ALL {
        match floods.policy(component).await {
            Ok(newest) => policies.push(shown::row(component, &newest)),
            Err(error) => return unreadable(&error),
        }
    }
    let page = FloodPolicies {
        visitor: pages.visitor_of(&head),
        shut: shut(&head),
        policies,
    };
    plain(
        StatusCode::OK,
        spillway_app::flood_policies(&pages.options, page),
    )
}

async fn show(
    State(pages): State<Pages>,
    InPath(component): InPath<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let Some(component) = named(&component) else {
        return pages.nowhere(request).await;
    };
    let query = query.unwrap_or_default();
    let asked: Asked = serde_urlencoded::from_str(&query).unwrap_or_default();
    let (head, _) = request.into_parts();
    let editing = Editing::of(&pages, component, head);
    let mut parts = Shown {
        before: asked.before,
        saved: asked.saved,
        ..Shown::default()
    };
    if let Some(version) = asked.back {
        match shown::rollback(&editing, version, Typed::default()).await {
            Ok(Some(rollback)) => parts.rollback = Some(rollback),
            Ok(None) => {
                let text = format!("There is no version {version} to go back to.");
                parts.said.push(Said::Wrong(text));
            }
            Err(error) => return unreadable(&error),
        }
    }
    editing.page(StatusCode::OK, parts).await
}

async fn go_back(InPath(component): InPath<String>) -> Response {
    match named(&component) {
        Some(component) => see_other(&path(component)),
        None => see_other(FLOOD_POLICIES_PATH),
    }
}

fn path(component: Component) -> String {
    format!("{FLOOD_POLICIES_PATH}/{component}")
}

async fn edit(
    State(pages): State<Pages>,
    InPath(component): InPath<String>,
    request: Request,
) -> Response {
    let Some(component) = named(&component) else {
        return pages.nowhere(request).await;
    };
    let (head, pairs) = match form(request, FORM_BYTES_MAX).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let editing = Editing::of(&pages, component, head);
    let mut form = draft::read(pairs);
    if draft::reshape(&mut form) {
        return editing.unchanged(form.draft).await;
    }
    let checked = draft::check(&form.draft);
    let (document, checked) = match checked {
        Ok(checked) => checked,
        Err(wrong) => return editing.mistaken(form.draft, wrong).await,
    };
    match form.act {
        Act::Apply => editing.apply(form, document, checked).await,
        Act::Overwrite => editing.overwrite(form, document, checked).await,
        _ => {
            editing
                .tried(form.draft, document, checked, Vec::new())
                .await
        }
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
    InPath(component): InPath<String>,
    request: Request,
) -> Response {
    let Some(component) = named(&component) else {
        return pages.nowhere(request).await;
    };
    let (head, back) = match form::<Back>(request, FORM_BYTES_MAX).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    Editing::of(&pages, component, head).roll_back(back).await
}

/// Somebody's look at a component's policy.
struct Editing<'a> {
    pages: &'a Pages,
    component: Component,
    visitor: spillway_app::Visitor,
    by: By,
    /// Why they may not change it.
    shut: Option<String>,
}

impl<'a> Editing<'a> {
    fn of(pages: &'a Pages, component: Component, head: Parts) -> Self {
        Self {
            pages,
            component,
            visitor: pages.visitor_of(&head),
            by: pages.entrance.trail.by(&head),
            shut: shut(&head),
        }
    }

    fn floods(&self) -> &Floods {
        self.pages.entrance.api.floods()
    }

    /// The page with a form that nothing was made of yet.
    async fn unchanged(&self, draft: FloodDraft) -> Response {
        let parts = Shown {
            draft: Some(draft),
            ..Shown::default()
        };
        self.page(StatusCode::OK, parts).await
    }

    async fn mistaken(&self, draft: FloodDraft, wrong: String) -> Response {
        let said = "Nothing is changed: something below is not right yet.".to_owned();
        let draft = FloodDraft {
            wrong: Some(wrong),
            ..draft
        };
        let parts = Shown {
            draft: Some(draft),
            said: vec![Said::Wrong(said)],
            ..Shown::default()
        };
        self.page(StatusCode::UNPROCESSABLE_ENTITY, parts).await
    }

    /// The page with what the form's policy would have done.
    async fn tried(
        &self,
        draft: FloodDraft,
        document: FloodDocument,
        checked: Checked,
        mut said: Vec<Said>,
    ) -> Response {
        match self.floods().policy(self.component).await {
            Ok(newest) if newest.version == draft.base => {}
            Ok(_) => said.push(Said::Wrong(format!(
                "Somebody else saved this policy after version {}, which yours began with: it can be \
                 applied only over theirs.",
                draft.base
            ))),
            Err(error) => return unreadable(&error),
        }
        let trial = match self.floods().try_policy(self.component, checked).await {
            Ok(tried) => Some(shown::trial(&tried, digest(&document))),
            Err(NotTried::Store(error)) => return unreadable(&error),
            Err(not) => {
                said.push(Said::Wrong(sentence(&not)));
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

    /// Puts the form's policy in force, if it is the one that was tried.
    async fn apply(&self, form: Form, document: FloodDocument, checked: Checked) -> Response {
        if digest(&document) != form.tried {
            let said = "This is another policy than the one that was tried. Look at what it would \
                        have done, then apply it.";
            let said = vec![Said::Wrong(said.to_owned())];
            return self.tried(form.draft, document, checked, said).await;
        }
        let base = form.draft.base;
        self.save(form.draft, document, checked, base).await
    }

    /// The same over what somebody else saved, if that was seen.
    async fn overwrite(&self, form: Form, document: FloodDocument, checked: Checked) -> Response {
        let as_shown = digest(&document) == form.tried;
        let said = match form.over.filter(|_| form.seen) {
            Some(over) if as_shown => return self.save(form.draft, document, checked, over).await,
            Some(_) => {
                "Nothing is changed: this is another policy than the one that was shown as yours. \
                 Look at it, then save it over theirs."
            }
            None => "Set the mark that you have seen their change, then save yours over it.",
        };
        let said = Said::Wrong(said.to_owned());
        self.conflict(form.draft, &document, said).await
    }

    async fn save(
        &self,
        mut draft: FloodDraft,
        document: FloodDocument,
        checked: Checked,
        base: i64,
    ) -> Response {
        let Some(reason) = reason(&mut draft.reason) else {
            let said = "Nothing is changed: say why it is to change.".to_owned();
            let said = vec![Said::Wrong(said)];
            return self.tried(draft, document, checked, said).await;
        };
        let by = self.by.clone().because(&reason);
        let edit = self.edit(base, &by, false);
        let floods = self.floods();
        match floods
            .change_policy(self.component, &document, &checked, edit)
            .await
        {
            Ok(stored) => self.saved(stored.version),
            Err(store::Error::Conflict { .. }) => {
                let text = "Nothing is changed: somebody else saved this policy meanwhile.";
                let said = Said::Wrong(text.to_owned());
                self.conflict(draft, &document, said).await
            }
            Err(error) => unreadable(&error),
        }
    }

    async fn conflict(&self, draft: FloodDraft, own: &FloodDocument, said: Said) -> Response {
        let conflict = match shown::conflict(self, draft.base, own).await {
            Ok(conflict) => conflict,
            Err(error) => return unreadable(&error),
        };
        let parts = Shown {
            draft: Some(draft),
            conflict: Some(conflict),
            said: vec![said],
            ..Shown::default()
        };
        self.page(StatusCode::CONFLICT, parts).await
    }

    async fn roll_back(&self, back: Back) -> Response {
        let mut typed = Typed {
            text: back.reason.trim().to_owned(),
            wrong: None,
        };
        let Some(because) = reason(&mut typed) else {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return self.back_again(back.version, typed, status, None).await;
        };
        let old = match self
            .floods()
            .policy_version(self.component, back.version)
            .await
        {
            Ok(old) => old,
            Err(error) => return unreadable(&error),
        };
        let old = old.and_then(|old| shown::document(&old));
        let Some((document, checked)) = old.and_then(|it| it.check().ok().map(|ok| (it, ok)))
        else {
            let said = format!("There is no version {} to go back to.", back.version);
            let said = Some(Said::Wrong(said));
            let status = StatusCode::NOT_FOUND;
            return self.back_again(back.version, typed, status, said).await;
        };
        let by = self.by.clone().because(&because);
        let edit = self.edit(back.base, &by, true);
        let floods = self.floods();
        match floods
            .change_policy(self.component, &document, &checked, edit)
            .await
        {
            Ok(stored) => self.saved(stored.version),
            Err(store::Error::Conflict { .. }) => {
                let said = "Nothing is changed: somebody else saved this policy meanwhile. This \
                            is what a rollback changes now.";
                let said = Some(Said::Wrong(said.to_owned()));
                let status = StatusCode::CONFLICT;
                self.back_again(back.version, typed, status, said).await
            }
            Err(error) => unreadable(&error),
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
        let rollback = match shown::rollback(self, version, reason).await {
            Ok(rollback) => rollback,
            Err(error) => return unreadable(&error),
        };
        let parts = Shown {
            rollback,
            said: said.into_iter().collect(),
            ..Shown::default()
        };
        self.page(status, parts).await
    }

    fn edit<'b>(&self, base: i64, by: &'b By, back: bool) -> FloodEdit<'b> {
        let clock = self.pages.entrance.api.limiters().clock();
        FloodEdit {
            base,
            by,
            at_ms: clock.wall_now().as_millisecond(),
            back,
        }
    }

    fn saved(&self, version: i64) -> Response {
        see_other(&format!("{}?saved={version}", path(self.component)))
    }

    async fn page(&self, status: StatusCode, parts: Shown) -> Response {
        match shown::editor(self, parts).await {
            Ok(editor) => plain(
                status,
                spillway_app::flood_policy(&self.pages.options, editor),
            ),
            Err(error) => unreadable(&error),
        }
    }
}

/// Why whoever asks may not change policies; `None`: they may.
fn shut(head: &Parts) -> Option<String> {
    let caller = head.extensions.get::<Caller>();
    let may = caller.map_or(Ok(()), |caller| caller.is_at_least(Role::Admin));
    may.err()
        .map(|denied| format!("You can look, but not change: {denied}."))
}

/// The reason as it is written down; none: what is wrong with it stands beside it.
fn reason(typed: &mut Typed) -> Option<String> {
    let wrong = match typed.text.as_str() {
        "" => "Say why, in a line.",
        text if text.chars().count() > REASON_CHARS_MAX => "At most 500 characters.",
        text if text.chars().any(char::is_control) => "One line, without control characters.",
        text => return Some(text.to_owned()),
    };
    typed.wrong = Some(wrong.to_owned());
    None
}

fn unreadable(error: &store::Error) -> Response {
    let error = error as &dyn std::error::Error;
    tracing::error!(error, "the flood policies cannot be shown or changed");
    unwritten()
}
