//! Tokens of programs, made and revoked by admins; and the networks that need none.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    extract::{RawQuery, Request, State},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{StatusCode, request::Parts};
use jiff::Timestamp;
use spillway::Lane;
use spillway_app::{ClientNetwork, ListedToken, OneTime, Said, TokenForm, Told, in_words};

use super::{
    Pages,
    door::{Fields, sentence, unwritten},
    plain,
    told::Sender,
};
use crate::{
    access::{
        Network, Rights, Role, Scope, TokenSecret, Tokens,
        tokens::{
            Listed,
            draft::{self, NewToken},
        },
    },
    http::{Problem, see_other},
    store::{Error, StoredToken},
};

const PATH: &str = "/tokens";

/// When a token ends where nobody says otherwise: long enough to plan for, short enough to be
/// made anew by people who still know what it is for.
const EXPIRES: &str = "90d";

/// Why tokens are not made here.
const OPEN: &str = "This server lets anybody in without a token, so it keeps none here.";
const FOR_ADMINS: &str = "Takes the role admin.";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show))
        // Who comes back to a form that was not taken finds an empty one.
        .route(
            "/tokens/new",
            get(|| async { see_other(PATH) }).post(create),
        )
        .route("/tokens/revoke", post(revoke))
}

async fn show(State(pages): State<Pages>, RawQuery(query): RawQuery, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let sender = Sender::of(&parts);
    let told = pages
        .desk
        .outbox
        .take(query.as_deref(), &sender, Instant::now());
    let form = TokenForm {
        role: Role::Member.to_string(),
        scopes: vec![Scope::Gateway.to_string()],
        expires: EXPIRES.to_owned(),
        ..pages.offered()
    };
    pages.tokens(&parts, StatusCode::OK, form, None, told).await
}

async fn create(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(tokens) = pages.entrance.access.tokens() else {
        return not_here().into_response();
    };
    let now = Timestamp::now();
    let made = pages.made(&fields, now);
    let kept = match &made {
        Ok((_, token)) => tokens.add(token, &pages.entrance.trail.by(&parts)).await,
        Err(wrong) => return pages.again(&parts, &fields, wrong.clone()).await,
    };
    match (made, kept) {
        (Ok((secret, token)), Ok(())) => {
            let told = shown_once(&secret, &token);
            let to = pages
                .desk
                .outbox
                .lead(PATH, Sender::of(&parts), told, Instant::now());
            see_other(&to)
        }
        (_, Err(Error::Database { .. })) => unwritten(),
        (_, Err(error)) => pages.again(&parts, &fields, sentence(&error)).await,
        (Err(wrong), _) => pages.again(&parts, &fields, wrong).await,
    }
}

async fn revoke(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, fields) = match Fields::in_form(request).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let Some(tokens) = pages.entrance.access.tokens() else {
        return not_here().into_response();
    };
    let by = pages.entrance.trail.by(&parts);
    let told = match tokens.revoke(fields.get("id"), Timestamp::now(), &by).await {
        Ok(Some(token)) => Told::done(format!(
            "The token {} lets nobody in any more.",
            in_words(&token.name)
        )),
        Ok(None) => Told::wrong("That token was revoked already.".to_owned()),
        Err(_) => return unwritten(),
    };
    let sender = Sender::of(&parts);
    see_other(&pages.desk.outbox.lead(PATH, sender, told, Instant::now()))
}

fn not_here() -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "open",
        "This server asks for no tokens",
    )
    .detail(OPEN)
}

impl Pages {
    async fn tokens(
        &self,
        parts: &Parts,
        status: StatusCode,
        form: TokenForm,
        wrong: Option<String>,
        told: Option<Told>,
    ) -> Response {
        let listed = match self.entrance.access.tokens().map(Tokens::list) {
            Some(listed) => listed.await,
            None => Ok(Vec::new()),
        };
        let now_ms = Timestamp::now().as_millisecond();
        let (listed, told) = match listed {
            Ok(listed) => (listed, told),
            Err(error) => {
                let text = format!("The tokens cannot be read: {error}.");
                (Vec::new(), Some(Told::from(Said::Wrong(text))))
            }
        };
        let visitor = self.visitor_of(parts);
        let page = spillway_app::Tokens {
            why_not: match self.entrance.access.tokens() {
                None => OPEN.to_owned(),
                Some(_) if visitor.role != Role::Admin.to_string() => FOR_ADMINS.to_owned(),
                Some(_) => String::new(),
            },
            visitor,
            tokens: listed.into_iter().map(|it| shown(it, now_ms)).collect(),
            form,
            wrong,
            networks: self.entrance.networks.iter().map(network).collect(),
            told,
        };
        plain(status, spillway_app::tokens(&self.options, page))
    }

    /// The page with what was typed, and what is wrong with it.
    async fn again(&self, parts: &Parts, fields: &Fields, wrong: String) -> Response {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let form = typed(fields, self.offered());
        self.tokens(parts, status, form, Some(wrong), None).await
    }

    /// What there is to choose from.
    fn offered(&self) -> TokenForm {
        let roles = Role::ALL.map(|role| (role.to_string(), role_may(role)));
        TokenForm {
            roles: roles.to_vec(),
            all_scopes: Scope::ALL
                .map(|scope| (scope.to_string(), scope_for(scope)))
                .to_vec(),
            all_upstreams: self.entrance.upstreams.clone(),
            ..TokenForm::default()
        }
    }

    /// The token that is asked for; else what is wrong.
    fn made(&self, fields: &Fields, now: Timestamp) -> Result<(TokenSecret, StoredToken), String> {
        let new = asked(fields)?;
        let upstreams: Vec<_> = self.entrance.upstreams.iter().map(String::as_str).collect();
        new.draft(&upstreams, now).map_err(|error| {
            let cause = std::error::Error::source(&error);
            cause.map_or_else(|| sentence(&error), |cause| sentence(&cause))
        })
    }
}

fn asked(fields: &Fields) -> Result<NewToken, String> {
    let because = |what: &str, why: String| format!("{what} {why}.");
    let scopes = fields.all("scope").map(|name| {
        let mut all = Scope::ALL.into_iter();
        let scope = all.find(|scope| scope.to_string() == name);
        scope.ok_or_else(|| "There is no such scope.".to_owned())
    });
    let keys = |name: &str, what: &str| {
        let keys = fields.list(name).into_iter();
        keys.map(|it| draft::key(&it).map_err(|why| because(what, why)))
            .collect::<Result<_, _>>()
    };
    let named = |name: &'static str| Some(fields.get(name)).filter(|text| !text.is_empty());
    Ok(NewToken {
        name: draft::name(fields.get("name")).map_err(|why| because("The name", why))?,
        rights: Rights {
            role: Role::named(fields.get("role")).ok_or("There is no such role.")?,
            scopes: scopes.collect::<Result<_, _>>()?,
            upstreams: fields.all("upstream").map(str::to_owned).collect(),
            apps: keys("apps", "An app")?,
            sites: keys("sites", "A site")?,
            lane: named("lane")
                .map(draft::lane)
                .transpose()
                .map_err(|why| because("The lane", why))?,
            act_for_users: fields.is_set("act_for_users"),
        },
        expires: named("expires")
            .map(draft::expiry)
            .transpose()
            .map_err(|why| because("The end", why))?,
    })
}

/// What was typed, to be typed on.
fn typed(fields: &Fields, offered: TokenForm) -> TokenForm {
    let text = |name: &str| fields.get(name).to_owned();
    TokenForm {
        name: text("name"),
        role: text("role"),
        scopes: fields.all("scope").map(str::to_owned).collect(),
        upstreams: fields.all("upstream").map(str::to_owned).collect(),
        apps: text("apps"),
        sites: text("sites"),
        lane: text("lane"),
        act_for_users: fields.is_set("act_for_users"),
        expires: text("expires"),
        ..offered
    }
}

fn shown_once(secret: &TokenSecret, token: &StoredToken) -> Told {
    Told {
        one_time: Some(OneTime {
            label: "The new token",
            value: secret.reveal(),
            hint:
                "Copy it now: it is never shown again. Programs send it as Spillway-Token to the \
                   gateway, and as Authorization: Bearer to the API."
                    .to_owned(),
        }),
        ..Told::done(format!("The token {} is made.", in_words(&token.name)))
    }
}

pub(super) const fn role_may(role: Role) -> &'static str {
    match role {
        Role::Member => "calls, permits, events, jobs of its own",
        Role::Viewer => "also see everything",
        Role::Operator => "also pause, resume and force",
        Role::Admin => "also change limits, accounts and tokens",
    }
}

const fn scope_for(scope: Scope) -> &'static str {
    match scope {
        Scope::Gateway => "calls through the gateway",
        Scope::Permits => "permits for calls that the program makes itself",
        Scope::Events => "reports of change events",
        Scope::Metrics => "the metrics",
        Scope::Jobs => "migrations",
        Scope::Read => "counts, limits and the live stream",
        Scope::Write => "what else the role may change",
    }
}

fn shown(token: Listed, now_ms: i64) -> ListedToken {
    let (role, scopes, bound) = match &token.rights {
        Some(rights) => (rights.role.to_string(), scopes(rights), bound(rights)),
        None => (
            "nobody: it is damaged".to_owned(),
            "nothing".to_owned(),
            vec![],
        ),
    };
    ListedToken {
        id: token.id,
        name: token.name,
        role,
        scopes,
        bound,
        expires_at: token.expires_at_ms.map(at).unwrap_or_default(),
        is_expired: token.expires_at_ms.is_some_and(|at_ms| at_ms <= now_ms),
        used_at: token.last_used_at_ms.map(at).unwrap_or_default(),
    }
}

fn scopes(rights: &Rights) -> String {
    let scopes: Vec<_> = rights.scopes.iter().map(ToString::to_string).collect();
    scopes.join(", ")
}

fn bound(rights: &Rights) -> Vec<String> {
    let bindings = [
        ("upstream", &rights.upstreams),
        ("app", &rights.apps),
        ("site", &rights.sites),
    ];
    let named = bindings
        .into_iter()
        .flat_map(|(what, names)| names.iter().map(move |name| format!("{what} {name}")));
    let lane = rights.lane.map(|lane| format!("{lane} lane"));
    let acts = rights.act_for_users.then(|| "acts for users".to_owned());
    named.chain(lane).chain(acts).collect()
}

fn network((upstream, network): &(String, Arc<Network>)) -> ClientNetwork {
    ClientNetwork {
        upstream: upstream.clone(),
        cidr: network.of.name.clone(),
        app: network.of.app.clone().unwrap_or_default(),
        lane: network.of.lane.unwrap_or(Lane::Foreground).to_string(),
        used_at: network.used_at_ms().map(at).unwrap_or_default(),
    }
}

/// RFC 3339, to the second.
fn at(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms);
    at.map_or_else(|_| String::new(), |at| format!("{at:.0}"))
}
