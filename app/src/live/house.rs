//! How Spillway itself is, and what happened to it lately.

use serde::{Deserialize, Serialize};

/// How Spillway itself is, and what was changed and throttled in the last hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct House {
    /// What it depends on.
    pub parts: Vec<HousePart>,
    /// How many answers in the last hour said that the upstream throttled: 429 and the like.
    pub throttled: u64,
    /// What was changed in the last hour, newest first, at most [`CHANGES_MAX`].
    pub changes: Vec<Change>,
    /// How many more there were.
    #[serde(default)]
    pub more_changes: u64,
    /// What waits for a person, the most urgent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attention: Vec<Attention>,
    /// Why the changes are not known; empty: they are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unknown: String,
}

/// Something that nothing puts right but a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Attention {
    /// What, in a sentence.
    pub says: String,
    /// The path of the dashboard's page where it is put right.
    pub path: String,
    /// What the way there is called.
    pub way: String,
}

/// The most changes that are told.
pub const CHANGES_MAX: usize = 5;

/// Something that Spillway depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct HousePart {
    /// What it is: `Database`, `Journal of graph`.
    pub name: String,
    /// How it is, in a few words.
    pub said: String,
    /// Whether that is trouble.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_trouble: bool,
}

/// Something that was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Change {
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// By whom.
    pub who: String,
    /// What, in words.
    pub what: String,
    /// Why, in their words; empty: none were asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}
