mod calls;

use super::*;
use crate::policy::Share;
use Preset::{
    Notion, OneNote, Outlook, SharePoint, TeamsChannelPosts, TeamsConversations, TeamsMembers,
    TeamsNotifications, TeamsOther, TeamsTeam,
};
use Scope::{App, Tenant, User};

#[test]
fn every_preset_is_legal_found_by_name_and_brought_once() {
    for preset in Preset::ALL {
        assert!(preset.policy().is_ok(), "{}", preset.name());
        assert_eq!(Preset::named(preset.name()), Some(preset));
        let brought = Preset::NAMES
            .iter()
            .flat_map(|name| Preset::brought_by(name));
        assert_eq!(
            brought.filter(|other| **other == preset).count(),
            1,
            "{}",
            preset.name()
        );
    }
    assert_eq!(Preset::named("evernote"), None);
    assert!(Preset::brought_by("evernote").is_empty());
    assert!(matches!(Vendor::Graph.global(), Some(Ok(_))));
}

/// Numbers as the vendors publish them; a change of one is a change of what is kept.
#[test]
fn limits_are_the_published_ones() {
    let limits = |preset: Preset| {
        let policy = preset.policy().expect("legal");
        let layers = policy.layers().iter();
        layers
            .map(|layer| (layer.scope(), layer.dimension(), layer.limit()))
            .collect::<Vec<_>>()
    };
    let (five_minutes, ten_minutes) = (every(300_000), every(600_000));
    assert_eq!(
        limits(OneNote),
        [
            (User, MINUTE, 120),
            (User, HOUR, 400),
            (User, Dimension::Concurrency, 5),
            (App, MINUTE, 240),
            (App, HOUR, 800),
            (App, Dimension::Concurrency, 20),
        ]
    );
    assert_eq!(
        limits(SharePoint),
        [
            (User, five_minutes, 3_000),
            (Tenant, MINUTE, 1_200),
            (Tenant, five_minutes, 18_750),
            (Tenant, DAY, 1_200_000),
        ]
    );
    assert_eq!(
        limits(Outlook),
        [
            (User, ten_minutes, 10_000),
            (User, Dimension::Concurrency, 4)
        ]
    );
    assert_eq!(limits(Notion), [(App, SECOND, 3), (App, MINUTE, 180)]);
    let posts = [
        (Tenant, SECOND, 1),
        (Tenant, DAY, 3_000),
        (App, SECOND, 500),
    ];
    assert_eq!(limits(TeamsChannelPosts), posts);
    for (preset, dimension, tenant, app) in [
        (TeamsConversations, SECOND, 1, 50),
        (TeamsMembers, MINUTE, 4, 300),
        (TeamsNotifications, SECOND, 2, 20),
        (TeamsTeam, SECOND, 2, 50),
        (TeamsOther, SECOND, 5, 100),
    ] {
        let expected = [(Tenant, dimension, tenant), (App, SECOND, app)];
        assert_eq!(limits(preset), expected, "{}", preset.name());
    }
    let global = Vendor::Graph.global().expect("has one").expect("legal");
    assert_eq!(
        global.layers(),
        [Layer::new(App, every(10_000), 130_000).expect("legal")]
    );
}

/// Half of three a second would cost two thirds of the rate.
#[test]
fn notions_background_may_use_all() {
    for preset in Preset::ALL {
        let expected = if preset == Notion {
            Share::new(1000).expect("legal")
        } else {
            Share::HALF
        };
        assert_eq!(preset.policy().expect("legal").background_share(), expected);
    }
}

/// SDKs of Graph stop retrying from 180 s on, Notion's waits 60 s at most.
#[test]
fn no_wait_is_told_that_sdks_do_not_obey() {
    for preset in Preset::ALL {
        let cap = if preset == Notion { 60 } else { 179 };
        assert_eq!(preset.retry_after_s_max(), cap, "{}", preset.name());
    }
}

#[test]
fn what_is_left_is_told_of_the_units_in_a_minute() {
    let told = Preset::ALL.map(Preset::remaining_is_of);
    assert_eq!(told.iter().flatten().count(), 1);
    let (scope, dimension) = SharePoint.remaining_is_of().expect("told");
    let policy = SharePoint.policy().expect("legal");
    let mut layers = policy.layers_at(scope);
    assert!(layers.any(|layer| layer.dimension() == dimension));
}
