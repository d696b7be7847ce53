//! The dashboard of Spillway: what it shows, and the live data it shows.
//!
//! Pages are rendered on the server with real values (feature `ssr`), then hydrated in
//! the browser (feature `hydrate`) and fed by one stream of events. The server hands
//! over what the pages need as a [`Backend`] in the context; nothing here knows how it
//! is stored or served.

#[cfg(feature = "ssr")]
mod accounts;
#[cfg(feature = "ssr")]
mod alerts;
mod announcer;
#[cfg(feature = "ssr")]
mod audit;
#[cfg(feature = "ssr")]
mod backend;
#[cfg_attr(
    not(feature = "hydrate"),
    allow(dead_code, reason = "only a browser's line opens and breaks")
)]
mod connection;
#[cfg(feature = "ssr")]
mod demo_mails;
#[cfg(feature = "ssr")]
mod door;
mod erase;
#[cfg_attr(
    not(feature = "hydrate"),
    allow(dead_code, reason = "only a browser feeds it")
)]
mod feed;
#[cfg(feature = "ssr")]
mod flood_notice;
#[cfg(feature = "ssr")]
mod floods;
mod frame;
mod instant;
mod keys;
#[cfg(feature = "ssr")]
mod letter;
#[cfg(feature = "ssr")]
mod limits;
pub mod live;
mod nav;
#[cfg(feature = "ssr")]
mod operate;
mod overview;
mod pages;
mod pauses;
#[cfg(feature = "ssr")]
mod plain;
#[cfg(feature = "ssr")]
mod settings;
#[cfg(feature = "ssr")]
mod shell;
#[cfg(feature = "ssr")]
mod site;
mod status;
mod time;
#[cfg(feature = "ssr")]
mod tokens;
mod user;
mod visitor;
#[cfg(feature = "ssr")]
mod workload;

#[cfg(feature = "ssr")]
pub use accounts::{
    AccountForm, AccountPage, AccountSession, Accounts, ListedAccount, account, accounts,
};
#[cfg(feature = "ssr")]
pub use alerts::{Alerts, Fate, ShownIncident, ShownMessage, alerts};
#[cfg(feature = "ssr")]
pub use audit::{Audit, AuditChange, AuditEntry, AuditFilters, ChainState, Verified, audit};
#[cfg(feature = "ssr")]
pub use backend::{Asked, Backend, SharedBackend};
#[cfg(feature = "ssr")]
pub use demo_mails::{DemoMail, demo_mails};
#[cfg(feature = "ssr")]
pub use door::{DOOR_POLICY, Door, Said, door};
#[cfg(feature = "ssr")]
pub use flood_notice::{FloodFact, FloodNotice, flood_notice};
#[cfg(feature = "ssr")]
pub use floods::{
    DisabledRow, FLOOD_POLICIES_PATH, FLOOD_PRESETS, FLOODS_DISABLED_PATH, FloodAsked,
    FloodComponent, FloodDeed, FloodDraft, FloodList, FloodListDraft, FloodOne, FloodPauseShown,
    FloodPausing, FloodPolicies, FloodPolicyEditor, FloodPolicyRow, FloodRegion, FloodRow,
    FloodTotals, FloodTrial, FloodTrialList, FloodWhose, FloodsDisabled, component_words,
    flood_list, flood_list_live, flood_list_path, flood_pause, flood_pause_path, flood_policies,
    flood_policy, floods, floods_confirm, floods_disabled, floods_live,
};
pub use frame::App;
#[cfg(feature = "ssr")]
pub use letter::{Letter, LetterPart, letter};
#[cfg(feature = "ssr")]
pub use limits::{
    Change, Conflict, Draft, Editor, History, Lane, LayerDraft, Limited, LimitsList, Made,
    NumberField, OwnDraft, Past, Rollback, Trial, Typed, limits_editor, limits_list,
};
#[cfg(feature = "ssr")]
pub use nav::ways;
#[cfg(feature = "ssr")]
pub use operate::{Operate, Sent, Steer, Target, background, breaker, operate};
#[cfg(feature = "ssr")]
pub use overview::name::{in_words, visible};
#[cfg(feature = "ssr")]
pub use pages::limits_path;
#[cfg(feature = "ssr")]
pub use pages::query;
#[cfg(feature = "ssr")]
pub use plain::{LIVE_POLICY, OneTime, PLAIN_POLICY, Told, Undo};
#[cfg(feature = "ssr")]
pub use settings::{OwnSession, Settings, settings};
#[cfg(feature = "ssr")]
pub use shell::{content_security_policy, shell};
#[cfg(feature = "ssr")]
pub use site::{
    Moment, OtherList, SITE_PATH, SiteComponent, SiteEntry, SiteList, SitePage, site, site_path,
};
#[cfg(feature = "ssr")]
pub use tokens::{ClientNetwork, ListedToken, TokenForm, Tokens, tokens};
#[cfg(feature = "ssr")]
pub use visitor::Visitor;
#[cfg(feature = "ssr")]
pub use workload::{Figure, Legend, Show, UserList, WorkloadPage, workload_page};

/// Where the browser begins: takes over the page that the server rendered.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    // Without it a page that dies says no more than "unreachable".
    std::panic::set_hook(Box::new(|panic| {
        leptos::leptos_dom::logging::console_error(&panic.to_string());
    }));
    leptos::mount::hydrate_body(App);
}
