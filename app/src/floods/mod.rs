//! The pages of the flood guard: lists by trouble, one list, what is disabled, and pauses.
//!
//! The server alone renders them, so that 100,000 lists, filters and charts weigh nothing in the
//! browser. Their one script asks once a second for what moves on them and puts it in place
//! (`public/live-parts.js`); without it they are snapshots that say so.

mod disabled;
mod list;
mod one;
mod pause;
mod policy;
mod row;

pub use disabled::{DisabledRow, FloodsDisabled, floods_confirm, floods_disabled};
pub use list::{FloodAsked, FloodList, FloodRegion, FloodTotals, floods, floods_live};
pub use one::{FloodDeed, FloodOne, FloodPauseShown, flood_list, flood_list_live};
pub use pause::{FloodPausing, FloodWhose, flood_pause};
pub use policy::{
    FLOOD_POLICIES_PATH, FLOOD_PRESETS, FloodDraft, FloodListDraft, FloodPolicies,
    FloodPolicyEditor, FloodPolicyRow, FloodTrial, FloodTrialList, flood_policies, flood_policy,
};
pub use row::{FloodComponent, FloodRow};

use leptos::prelude::*;

pub use crate::pages::FLOODS_PATH;
use crate::pages::escaped;

/// Where what is disabled is put right.
pub const FLOODS_DISABLED_PATH: &str = "/floods/disabled";

/// Where lists and sites are paused.
pub const FLOODS_PAUSE_PATH: &str = "/floods/pause";

/// Where a list's page is. Browsers take keys of dots for folders, even escaped ones: these stand
/// behind the question mark.
#[must_use]
pub fn flood_list_path(site: &str, list: &str) -> String {
    let is_folder = |key: &str| matches!(key, "." | "..");
    match is_folder(site) || is_folder(list) {
        true => ["/floods/list", &of_list(site, list)].concat(),
        false => ["/floods/", &escaped(site), "/", &escaped(list)].concat(),
    }
}

/// Where a list is paused, or a whole site where the list is empty.
#[must_use]
pub fn flood_pause_path(site: &str, list: &str) -> String {
    [FLOODS_PAUSE_PATH, &of_list(site, list)].concat()
}

fn of_list(site: &str, list: &str) -> String {
    crate::pages::query(&[("site", site), ("list", list)])
}

/// Rendered by itself: what a page that moves asks for.
fn part(view: AnyView) -> String {
    view.to_html()
}

/// A component as people call it.
#[must_use]
pub fn component_words(name: &str) -> &'static str {
    match name {
        "action" => "Action",
        "alert" => "Alert",
        "item_id" => "Item ID",
        "summary" => "Summary",
        _ => "Component",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_an_address_that_browsers_leave_alone() {
        assert_eq!(flood_list_path("s1", "l1"), "/floods/s1/l1");
        assert_eq!(
            flood_list_path("a/b?", "ü%#"),
            "/floods/a%2Fb%3F/%C3%BC%25%23"
        );
        assert_eq!(flood_list_path("s", ".."), "/floods/list?site=s&list=..");
        assert_eq!(flood_pause_path("s", ""), "/floods/pause?site=s");
    }
}
